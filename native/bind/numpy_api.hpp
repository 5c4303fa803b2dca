// NumPy's C API, for the binding files: one look at an array costs nanoseconds this way, and dtypes
// that the buffer protocol cannot express (datetime64) work too.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL cobre_numpy_api
#ifndef COBRE_IMPORTS_NUMPY  // module.cpp fills the table, the others use it
#define NO_IMPORT_ARRAY
#endif
#include <nanobind/nanobind.h>  // first: it includes Python.h
#include <numpy/arrayobject.h>
