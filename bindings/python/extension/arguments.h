// For fast.c: properties of the library and of NumPy that Python passed, and plain arguments of calls.

// An element, or a value for it.
typedef union {
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32;
    double f64;
} Element;

// --- properties passed by Python --------------------------------------------------------------------

// The runtime whose heap is host memory, while this process has one and no thread has another; 0 passes every call on.
static nvshmemrs_runtime_t runtime;

// The library's functions, as `c_put` and so on, and the atomic operations.
#include "operations.h"

// `_job.job`, whose `in_flight` is a dict; `_job.raise_status`; the operations of reductions by name.
static PyObject *job, *raise_status, *reductions;
// The types of operations, comparisons and updates of signals.
static PyObject *op_type, *cmp_type, *update_type;
// A number that `Teams` has and that is no team.
static unsigned long long no_team;
// The classes of arrays: NumPy's, and that of arrays on the heap.
static PyTypeObject *array_types[2];
static PyObject *in_flight_name, *pe_name, *remote_pe_name;

// An element type of NumPy's: `code` is the library's number, or -1 for one that is only moved.
typedef struct {
    PyObject *dtype;
    PyObject *scalar;
    Py_ssize_t size;
    int32_t code;
} Kind;

#define MOST_KINDS 16
static Kind kinds[MOST_KINDS];
static int n_kinds;

// --- arrays -----------------------------------------------------------------------------------------

// An array's header, as NumPy's C API lays it out (PyArrayObject_fields). `setup` compares it with an array.
typedef struct {
    PyObject head;
    char *data;
    int n_axes;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    PyObject *base;
    PyObject *dtype;
    int flags;
} Array;

enum { C_CONTIGUOUS = 0x1, WRITEABLE = 0x400 };

// Objects that keep memory of the heap for arrays, and whose memory Python has found allocated. A weak reference tells whether the
// object is still the same. `forget` empties the table when memory is freed.
enum { KEEPERS = 1024, PROBES = 8 };
static struct {
    PyObject *object;
    PyObject *reference;
} keepers[KEEPERS];

static size_t place_of(PyObject *object, size_t probe) {
    return ((((uintptr_t)object >> 4) * 0x9E3779B1u >> 12) + probe) % KEEPERS;
}

static bool is_array(PyObject *value) {
    return Py_TYPE(value) == array_types[0] || Py_TYPE(value) == array_types[1];
}

// The object behind an array and the arrays that it is a view of; NULL if they own their memory.
static PyObject *keeper_of(PyObject *value) {
    while (value != NULL && is_array(value)) {
        value = ((Array *)value)->base;
    }
    return value;
}

static bool is_kept(PyObject *keeper) {
    for (size_t probe = 0; probe < PROBES; probe++) {
        size_t place = place_of(keeper, probe);
        if (keepers[place].object == keeper) {
            return PyWeakref_GetObject(keepers[place].reference) == keeper;
        }
    }
    return false;
}

// A contiguous array of a known element type.
typedef struct {
    void *address;
    size_t bytes;
    const Kind *kind;
    bool is_writeable;
} View;

static bool view_of(PyObject *value, View *view) {
    if (!is_array(value)) {
        return false;
    }
    Array *array = (Array *)value;
    PyObject *keeper = keeper_of(array->base);
    if (!(array->flags & C_CONTIGUOUS) || (keeper != NULL && !is_kept(keeper))) {
        return false;
    }
    for (const Kind *kind = kinds; kind < kinds + n_kinds; kind++) {
        if (kind->dtype == array->dtype) {
            size_t bytes = (size_t)kind->size;
            for (int axis = 0; axis < array->n_axes; axis++) {
                bytes *= (size_t)array->shape[axis];
            }
            *view = (View){array->data, bytes, kind, (array->flags & WRITEABLE) != 0};
            return bytes > 0;
        }
    }
    return false;
}

// Two arrays with the same dtype and size.
static bool views_of(PyObject *first, PyObject *second, View *one, View *other) {
    return view_of(first, one) && view_of(second, other) && one->kind == other->kind && one->bytes == other->bytes;
}

// --- numbers ----------------------------------------------------------------------------------------

static bool int32_of(PyObject *value, int32_t *number) {
    if (!PyLong_CheckExact(value)) {
        return false;
    }
    int overflow;
    long long found = PyLong_AsLongLongAndOverflow(value, &overflow);
    *number = (int32_t)found;
    return !overflow && found == *number;
}

static bool uint64_of(PyObject *value, uint64_t *number) {
    if (!PyLong_CheckExact(value)) {
        return false;
    }
    *number = PyLong_AsUnsignedLongLong(value);
    if (*number == UINT64_MAX && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return true;
}

static bool real_of(PyObject *value, double *number) {
    if (!PyFloat_CheckExact(value) && !PyLong_CheckExact(value)) {
        return false;
    }
    *number = PyFloat_AsDouble(value);
    if (*number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return true;
}

// A plain number that an element of this type holds.
static bool element_of(PyObject *value, int32_t code, Element *element) {
    double real;
    switch (code) {
    case NVSHMEMRS_DTYPE_DOUBLE:
        return real_of(value, &element->f64);
    case NVSHMEMRS_DTYPE_FLOAT:
        if (!real_of(value, &real) || (isfinite(real) && fabs(real) > FLT_MAX)) {
            return false;
        }
        element->f32 = (float)real;
        return true;
    case NVSHMEMRS_DTYPE_UINT64:
        return uint64_of(value, &element->u64);
    default:
        break;
    }
    if (!PyLong_CheckExact(value)) {
        return false;
    }
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    element->i64 = number;  // little endian: the smaller integers are its first bytes
    if (overflow) {
        return false;
    }
    switch (code) {
    case NVSHMEMRS_DTYPE_INT8:
        return number == element->i8;
    case NVSHMEMRS_DTYPE_INT16:
        return number == element->i16;
    case NVSHMEMRS_DTYPE_INT32:
        return number == element->i32;
    case NVSHMEMRS_DTYPE_INT64:
        return true;
    case NVSHMEMRS_DTYPE_UINT8:
        return number == element->u8;
    case NVSHMEMRS_DTYPE_UINT16:
        return number == element->u16;
    case NVSHMEMRS_DTYPE_UINT32:
        return number == element->u32;
    default:
        return false;
    }
}

// An element as a Python number; NULL without an exception for a type that has none here.
static PyObject *number_of(int32_t code, const Element *element) {
    switch (code) {
    case NVSHMEMRS_DTYPE_INT8:
        return PyLong_FromLong(element->i8);
    case NVSHMEMRS_DTYPE_INT16:
        return PyLong_FromLong(element->i16);
    case NVSHMEMRS_DTYPE_INT32:
        return PyLong_FromLong(element->i32);
    case NVSHMEMRS_DTYPE_INT64:
        return PyLong_FromLongLong(element->i64);
    case NVSHMEMRS_DTYPE_UINT8:
        return PyLong_FromLong(element->u8);
    case NVSHMEMRS_DTYPE_UINT16:
        return PyLong_FromLong(element->u16);
    case NVSHMEMRS_DTYPE_UINT32:
        return PyLong_FromUnsignedLong(element->u32);
    case NVSHMEMRS_DTYPE_UINT64:
        return PyLong_FromUnsignedLongLong(element->u64);
    case NVSHMEMRS_DTYPE_FLOAT:
        return PyFloat_FromDouble(element->f32);
    case NVSHMEMRS_DTYPE_DOUBLE:
        return PyFloat_FromDouble(element->f64);
    default:
        return NULL;
    }
}

// Whether `number_of` and `element_of` know the type.
static bool is_number(int32_t code) {
    switch (code) {
    case NVSHMEMRS_DTYPE_INT8:
    case NVSHMEMRS_DTYPE_INT16:
    case NVSHMEMRS_DTYPE_INT32:
    case NVSHMEMRS_DTYPE_INT64:
    case NVSHMEMRS_DTYPE_UINT8:
    case NVSHMEMRS_DTYPE_UINT16:
    case NVSHMEMRS_DTYPE_UINT32:
    case NVSHMEMRS_DTYPE_UINT64:
    case NVSHMEMRS_DTYPE_FLOAT:
    case NVSHMEMRS_DTYPE_DOUBLE:
        return true;
    default:
        return false;
    }
}

static bool team_of(PyObject *value, nvshmemrs_team_t *team) {
    return uint64_of(value, team) && *team != no_team;
}

// A member of an enum of Python's, such as ComparisonType.CMP_EQ.
static bool member_of(PyObject *value, PyObject *type, int32_t *number) {
    if ((PyObject *)Py_TYPE(value) != type) {
        return false;
    }
    *number = (int32_t)PyLong_AsLong(value);
    return true;
}
