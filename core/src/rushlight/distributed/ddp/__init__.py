"""Training one model in several processes: gradients are averaged while backward goes on.

May import collectives, nn and autograd. Begin reading at :mod:`.module`, then :mod:`.reducer`.
"""
