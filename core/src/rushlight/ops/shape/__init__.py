"""Views, joins, and elements in other arrangements.

They import the table. Begin reading at :mod:`.views`.
"""
