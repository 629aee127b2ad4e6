"""Compiled functions as built-in functions of Python.

A call through ctypes takes several times as long as the equations of a small
mechanism. Here the machine code itself takes the objects of Python: it looks
whether they are a float and an array of floats, and if so calls the function
and returns a new array; if not it returns None, and the caller goes the long
way. What it needs to know of Python and NumPy is the part of their binary
interfaces that extension modules are compiled against; where that is not as
expected there are no such functions.
"""
from __future__ import annotations

import ctypes
import platform
import sysconfig
from functools import lru_cache

import numpy as np

__all__ = ['builtin']

# The largest number of outputs, which are first written to the stack.
LARGEST = 2048
FASTCALL = 0x80                 # METH_FASTCALL
# C-contiguous, and aligned to the size of a number.
PLAIN = 0x1 | 0x100
WORD = ctypes.sizeof(ctypes.c_void_p)
HEAD = object.__basicsize__     # of each object; its last word is the type
# Words of an array behind its head.
DATA, DIMENSIONS, SHAPE, DTYPE, FLAGS = 0, 1, 2, 5, 6
# Words of the table behind each function.
FUNCTION, STATES, CONSTANTS, INPUTS, SIZE, COUNT, COPY = range(7)

# `t` is made a number before the array is looked at, which that may change.
TEXT = """\
define ptr @entry(ptr %self, ptr %args, i64 %nargs) {{
start:
  %two = icmp eq i64 %nargs, 2
  br i1 %two, label %typed, label %refused
typed:
  %x_at = getelementptr i64, ptr %args, i64 1
  %x = load ptr, ptr %x_at
  %kind_at = getelementptr i8, ptr %x, i64 {kind}
  %kind = load i64, ptr %kind_at
  %array = icmp eq i64 %kind, {ndarray}
  br i1 %array, label %flat, label %refused
flat:
  %head = getelementptr i8, ptr %x, i64 {head}
  %dimensions_at = getelementptr i64, ptr %head, i64 {DIMENSIONS}
  %one = load i32, ptr %dimensions_at
  %is_one = icmp eq i32 %one, 1
  br i1 %is_one, label %timed, label %refused
timed:
  %t_object = load ptr, ptr %args
  %t = call double {as_double}(ptr %t_object)
  %perhaps = fcmp oeq double %t, -1.0
  br i1 %perhaps, label %doubted, label %shaped
doubted:
  %error = call ptr {occurred}()
  %none = icmp eq ptr %error, null
  br i1 %none, label %shaped, label %raised
raised:
  %usual = call i32 {matches}(ptr inttoptr (i64 {exception} to ptr))
  %interrupted = icmp eq i32 %usual, 0
  br i1 %interrupted, label %thrown, label %cleared
thrown:
  ret ptr null
cleared:
  call void {clear}()
  br label %refused
shaped:
  %item = call ptr {tuple_item}(ptr %self, i64 0)
  %table = call ptr {as_pointer}(ptr %item)
  %states_at = getelementptr i64, ptr %table, i64 {STATES}
  %states = load i64, ptr %states_at
  %dimensions = load i32, ptr %dimensions_at
  %dtype_at = getelementptr i64, ptr %head, i64 {DTYPE}
  %dtype = load i64, ptr %dtype_at
  %flags_at = getelementptr i64, ptr %head, i64 {FLAGS}
  %flags = load i32, ptr %flags_at
  %plain = and i32 %flags, {plain}
  %is_flat = icmp eq i32 %dimensions, 1
  %is_double = icmp eq i64 %dtype, {double}
  %is_plain = icmp eq i32 %plain, {plain}
  %both = and i1 %is_flat, %is_double
  %all = and i1 %both, %is_plain
  br i1 %all, label %sized, label %refused
sized:
  %shape_at = getelementptr i64, ptr %head, i64 {SHAPE}
  %shape = load ptr, ptr %shape_at
  %length = load i64, ptr %shape
  %fits = icmp eq i64 %length, %states
  br i1 %fits, label %called, label %refused
called:
  %data_at = getelementptr i64, ptr %head, i64 {DATA}
  %data = load ptr, ptr %data_at
  %function = load ptr, ptr %table
  %p_at = getelementptr i64, ptr %table, i64 {CONSTANTS}
  %p = load ptr, ptr %p_at
  %r_at = getelementptr i64, ptr %table, i64 {INPUTS}
  %r = load ptr, ptr %r_at
  %size_at = getelementptr i64, ptr %table, i64 {SIZE}
  %size = load i64, ptr %size_at
  %out = alloca double, i64 %size, align 64
  %bad = call i32 %function(double %t, ptr %data, ptr %p, ptr %r, ptr %out)
  %good = icmp eq i32 %bad, 0
  br i1 %good, label %returned, label %refused
returned:
  %copy_at = getelementptr i64, ptr %table, i64 {COPY}
  %copy = load ptr, ptr %copy_at
  %result = call ptr {call}(ptr %copy)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %end, label %filled
filled:
  %count_at = getelementptr i64, ptr %table, i64 {COUNT}
  %count = load i64, ptr %count_at
  %result_at = getelementptr i8, ptr %result, i64 {head}
  %target = load ptr, ptr %result_at
  br label %next
next:
  %i = phi i64 [ 0, %filled ], [ %more, %moved ]
  %going = icmp slt i64 %i, %count
  br i1 %going, label %moved, label %end
moved:
  %from = getelementptr double, ptr %out, i64 %i
  %number = load double, ptr %from
  %to = getelementptr double, ptr %target, i64 %i
  store double %number, ptr %to
  %more = add i64 %i, 1
  br label %next
end:
  ret ptr %result
refused:
  call void {increase}(ptr inttoptr (i64 {none} to ptr))
  ret ptr inttoptr (i64 {none} to ptr)
}}
"""


class Definition(ctypes.Structure):
    """``PyMethodDef``."""

    _fields_ = [('name', ctypes.c_char_p), ('function', ctypes.c_void_p),
                ('flags', ctypes.c_int), ('doc', ctypes.c_char_p)]


def builtin(function, states, p, size, count):
    """A function of ``(t, x)``, or None where there can be none.

    It returns the first ``count`` outputs as a new array, and None if the
    function says that they are not good, if ``t`` is no number, or if ``x``
    is not a contiguous array of as many floats as there are states.

    Parameters
    ==========

    function : object with ``address``
        Takes ``(t, x, p, r, out)``, see :class:`.NativeFunction`. It is kept
        as long as the result.
    states, size, count : int
        Number of states, of outputs, and of those that are returned.
    p : ndarray
        The constants.

    """
    entry = definition()
    if entry is None or size > LARGEST:
        return None
    copy = np.zeros(size)[:count].copy
    nothing = np.zeros(1)
    table = np.array([function.address, states, p.ctypes.data,
                      nothing.ctypes.data, size, len(copy()), id(copy)],
                     dtype=np.uint64)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
    return make(ctypes.addressof(entry), (
        table.ctypes.data, table, entry, function, p, nothing, copy), None)


@lru_cache(maxsize=None)
def definition():
    """What makes built-in functions, None where it cannot be had."""
    if not is_known():
        return None
    try:
        from .llvm_code import engine_of
    except (ImportError, OSError):
        return None
    engine = engine_of(TEXT.format(
        kind=HEAD - WORD, head=HEAD, plain=PLAIN, ndarray=id(np.ndarray),
        double=id(np.dtype(float)), none=id(None),
        tuple_item=symbol('PyTuple_GetItem'),
        as_pointer=symbol('PyLong_AsVoidPtr'),
        as_double=symbol('PyFloat_AsDouble'),
        occurred=symbol('PyErr_Occurred'), clear=symbol('PyErr_Clear'),
        matches=symbol('PyErr_ExceptionMatches'), exception=id(Exception),
        call=symbol('PyObject_CallNoArgs'), increase=symbol('Py_IncRef'),
        **{name: globals()[name] for name in (
            'DATA', 'DIMENSIONS', 'SHAPE', 'DTYPE', 'FLAGS', 'STATES',
            'CONSTANTS', 'INPUTS', 'SIZE', 'COUNT', 'COPY')}), (), 1)
    result = Definition(
        b'compiled', engine.get_function_address('entry'), FASTCALL, None)
    result.owner = engine
    return result


def symbol(name):
    """A function of Python's interface as text."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
    return f'inttoptr (i64 {address.value} to ptr)'


def is_known():
    """Whether objects and arrays lie in memory as expected."""
    if (platform.python_implementation() != 'CPython' or WORD != 8
            or sysconfig.get_config_var('Py_GIL_DISABLED')):
        return False
    return all(is_as_expected(example) for example in (
        np.zeros(3), np.zeros((4, 2))[:, 1], np.zeros((2, 2))))


def is_as_expected(example):
    """Whether the memory of an array says what NumPy says of it."""
    def word(position, kind=ctypes.c_size_t):
        return kind.from_address(id(example) + HEAD + WORD*position).value

    plain = word(FLAGS, ctypes.c_int) & PLAIN == PLAIN
    return (word(-1) == id(np.ndarray)
            and word(DATA) == example.ctypes.data
            and word(DIMENSIONS, ctypes.c_int) == example.ndim
            and word(DTYPE) == id(example.dtype)
            and ctypes.c_size_t.from_address(word(SHAPE)).value == len(example)
            and plain == example.flags.c_contiguous)
