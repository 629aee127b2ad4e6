"""The formulations, one file each."""
from .udwadia_kalaba import UdwadiaKalabaMethod

__all__ = ['UdwadiaKalabaMethod']
