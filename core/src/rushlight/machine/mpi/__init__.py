"""MPI: processes that exist already become one MPICH job, or a launcher's job is joined.

Imports nothing of Rushlight's but errors. mpi4py is imported here alone, and only when a group of
several processes is made. Begin reading at :mod:`.startup`; :mod:`.job_server` serves what MPICH
asks a launcher for, and tells every rank of ranks that are gone.
"""
