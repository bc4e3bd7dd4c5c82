"""PyTorch's path of what programs of a launcher ask of their machine; see :mod:`.distributed`."""

from rushlight.distributed.elastic.utils.api import get_env_variable_or_raise, get_socket_with_port
from rushlight.refusals import rest_of

__all__ = ["get_env_variable_or_raise", "get_socket_with_port"]
__getattr__ = rest_of(__name__, parts="api distributed")
