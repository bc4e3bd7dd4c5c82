"""A rank that mpiexec starts, its output in a file: ``rank_of_mpiexec.py FOLDER PROGRAM ...``."""

import os
import sys

rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]
file = os.open(os.path.join(sys.argv[1], rank), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.dup2(file, 1)
os.dup2(file, 2)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
