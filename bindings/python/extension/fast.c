// The module `nvshmemrs._fast`: the common case of the functions that programs call most, without ctypes.
//
// A `Function` stands in place of a Python function and has its attributes. It answers a call whose arguments are plain: contiguous
// NumPy arrays of one dtype, plain numbers, no stream. It passes every other call to the Python function, which checks the arguments and
// raises the errors. So both ways accept the same arguments, and there is one place for error texts.
//
// Only the stable ABI of Python 3.11 is used, and the layout that all versions of NumPy give an array. All of the state belongs to the
// main interpreter and is read and written under the GIL, which is released during calls of the library.

#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <structmember.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "nvshmemrs.h"

// CPython exports these since 3.9, and promises since 3.12 to keep them. The headers for older versions leave them out.
#if Py_LIMITED_API < 0x030C0000
typedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *);
PyAPI_FUNC(PyObject *) PyObject_Vectorcall(PyObject *, PyObject *const *, size_t, PyObject *);
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#define PY_VECTORCALL_ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
#endif

#include "arguments.h"
#include "calls.h"

// --- the module -------------------------------------------------------------------------------------

static const struct {
    const char *name;
    vectorcallfunc call;
} calls[] = {
    {"put", put},
    {"get", get},
    {"p", p},
    {"g", g},
    {"put_signal", put_signal},
    {"signal_op", signal_op},
    {"signal_wait", signal_wait},
    {"wait_until", wait_until},
    {"quiet", quiet},
    {"fence", fence},
    {"barrier", barrier},
    {"barrier_all", barrier_all},
    {"sync_all", sync_all},
    {"reduce", reduce},
};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static PyTypeObject *function_type;

static PyObject *function(PyObject *module, PyObject *python) {
    (void)module;
    PyObject *name = PyObject_GetAttrString(python, "__name__");
    if (name == NULL) {
        return NULL;
    }
    vectorcallfunc call = NULL;
    const void *row = NULL;
    for (size_t at = 0; at < LENGTH(calls); at++) {
        if (PyUnicode_CompareWithASCIIString(name, calls[at].name) == 0) {
            call = calls[at].call;
        }
    }
    for (size_t at = 0; at < LENGTH(atomics); at++) {
        if (PyUnicode_CompareWithASCIIString(name, atomics[at].name) == 0) {
            call = atomic_operation;
            row = &atomics[at];
        }
    }
    if (call == NULL) {
        PyErr_Format(PyExc_LookupError, "nvshmemrs._fast has no %U", name);
    }
    Py_DECREF(name);
    Function *made = call == NULL ? NULL : PyObject_New(Function, function_type);
    if (made != NULL) {
        made->call = call;
        Py_INCREF(python);
        made->python = python;
        made->row = row;
    }
    return (PyObject *)made;
}

static void function_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(((Function *)self)->python);
    PyObject_Free(self);
    Py_DECREF(type);
}

// For `f(*args, **named)`, where the interpreter does not use `call`.
static PyObject *function_call(PyObject *self, PyObject *args, PyObject *named) {
    return PyObject_Call(((Function *)self)->python, args, named);
}

static PyObject *function_getattr(PyObject *self, PyObject *name) {
    PyObject *python = ((Function *)self)->python;
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) {
        Py_INCREF(python);
        return python;
    }
    return PyObject_GetAttr(python, name);
}

static int function_setattr(PyObject *self, PyObject *name, PyObject *value) {
    return PyObject_SetAttr(((Function *)self)->python, name, value);
}

static PyObject *function_repr(PyObject *self) { return PyObject_Repr(((Function *)self)->python); }

// As an attribute of a class it is a method, as the Python function would be.
static PyObject *function_bind(PyObject *self, PyObject *instance, PyObject *type) {
    if (instance == NULL) {
        Py_INCREF(self);
        return self;
    }
    return PyObject_CallMethod(((Function *)self)->python, "__get__", "OO", instance, type == NULL ? Py_None : type);
}

static PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot function_slots[] = {
    {Py_tp_members, function_members},   {Py_tp_dealloc, function_dealloc}, {Py_tp_call, function_call},
    {Py_tp_getattro, function_getattr},  {Py_tp_setattro, function_setattr}, {Py_tp_repr, function_repr},
    {Py_tp_descr_get, function_bind},    {0, NULL},
};

static PyType_Spec function_spec = {
    .name = "nvshmemrs._fast.Function",
    .basicsize = sizeof(Function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = function_slots,
};

// The C function at an address that ctypes has found.
static bool address_in(PyObject *functions, const char *name, void *into) {
    PyObject *number = PyDict_GetItemString(functions, name);
    if (number == NULL) {
        PyErr_Format(PyExc_LookupError, "the address of nvshmemrs_%s is missing", name);
        return false;
    }
    void *address = PyLong_AsVoidPtr(number);
    memcpy(into, &address, sizeof address);
    return address != NULL;
}

static bool set_kinds(PyObject *rows) {
    n_kinds = 0;
    for (Py_ssize_t at = 0; at < PyList_Size(rows); at++) {
        Kind kind;
        int code;
        if (n_kinds == MOST_KINDS) {
            PyErr_SetString(PyExc_ValueError, "there are too many element types");
            return false;
        }
        if (!PyArg_ParseTuple(PyList_GetItem(rows, at), "OOni", &kind.dtype, &kind.scalar, &kind.size, &code)) {
            return false;
        }
        kind.code = code;
        Py_INCREF(kind.dtype);
        Py_INCREF(kind.scalar);
        kinds[n_kinds++] = kind;
    }
    return true;
}

// setup(functions, (job, raise_status, reductions, TEAM_MC_SHARED), (Op, ComparisonType, SignalOp), kinds, (ndarray, SymmetricArray), (sample, data,
// flags)): `sample` is an array of three elements, whose address and flags come from NumPy.
static PyObject *setup(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *functions, *rows, *classes[2], *sample;
    Py_ssize_t data;
    int flags;
    if (!PyArg_ParseTuple(args, "O!(OOOK)(OOO)O!(OO)(Oni)", &PyDict_Type, &functions, &job, &raise_status, &reductions, &no_team, &op_type,
                          &cmp_type, &update_type, &PyList_Type, &rows, &classes[0], &classes[1], &sample, &data, &flags)) {
        return NULL;
    }
    PyObject *kept[] = {job, raise_status, reductions, op_type, cmp_type, update_type, classes[0], classes[1]};
    for (size_t at = 0; at < LENGTH(kept); at++) {
        Py_INCREF(kept[at]);
    }
#define LOOK_UP(name)                                 \
    if (!address_in(functions, #name, &c_##name)) {   \
        return NULL;                                  \
    }
    FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    if (!set_kinds(rows)) {
        return NULL;
    }
    Array *array = (Array *)sample;
    if ((PyObject *)Py_TYPE(sample) != classes[0] || (Py_ssize_t)array->data != data || array->n_axes != 1 || array->shape[0] != 3 ||
        array->strides[0] != 8 || array->base != NULL || array->flags != flags) {
        PyErr_SetString(PyExc_ImportError, "this NumPy lays out its arrays in another way");
        return NULL;
    }
    array_types[0] = (PyTypeObject *)classes[0];
    array_types[1] = (PyTypeObject *)classes[1];
    Py_RETURN_NONE;
}

static PyObject *set_runtime(PyObject *module, PyObject *number) {
    (void)module;
    runtime = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred()) {
        runtime = 0;
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *keep(PyObject *module, PyObject *array) {
    (void)module;
    PyObject *keeper = keeper_of(array);
    if (keeper == NULL || keeper == array || is_kept(keeper)) {
        Py_RETURN_NONE;
    }
    PyObject *reference = PyWeakref_NewRef(keeper, NULL);
    if (reference == NULL) {
        PyErr_Clear();  // an object of another library, which Python code handles each time
        Py_RETURN_NONE;
    }
    size_t place = place_of(keeper, 0);
    for (size_t probe = 0; probe < PROBES; probe++) {
        size_t other = place_of(keeper, probe);
        PyObject *known = keepers[other].object;
        if (known == NULL || known == keeper || PyWeakref_GetObject(keepers[other].reference) != known) {
            place = other;
            break;
        }
    }
    Py_XDECREF(keepers[place].reference);
    keepers[place].reference = reference;
    keepers[place].object = keeper;
    Py_RETURN_NONE;
}

static PyObject *forget(PyObject *module, PyObject *none) {
    (void)module;
    (void)none;
    for (size_t at = 0; at < KEEPERS; at++) {
        keepers[at].object = NULL;
        Py_CLEAR(keepers[at].reference);
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"function", function, METH_O, "A Function in place of a Python function."},
    {"setup", setup, METH_VARARGS, "Takes note of the library and of NumPy."},
    {"set_runtime", set_runtime, METH_O, "The runtime of plain calls; 0 passes all calls on."},
    {"keep", keep, METH_O, "Takes note that the memory of this array is allocated."},
    {"forget", forget, METH_NOARGS, "Forgets which memory is allocated."},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module) {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError, "nvshmemrs._fast works in the main interpreter only");
        return -1;
    }
    in_flight_name = PyUnicode_InternFromString("in_flight");
    pe_name = PyUnicode_InternFromString("pe");
    remote_pe_name = PyUnicode_InternFromString("remote_pe");
    function_type = (PyTypeObject *)PyType_FromSpec(&function_spec);
    PyObject *hash = PyLong_FromUnsignedLongLong(NVSHMEMRS_API_HASH);
    if (in_flight_name == NULL || pe_name == NULL || remote_pe_name == NULL || function_type == NULL || hash == NULL) {
        return -1;
    }
    int failed = PyModule_AddObjectRef(module, "Function", (PyObject *)function_type) ||
                 PyModule_AddObjectRef(module, "API_HASH", hash);
    Py_DECREF(hash);
    return failed ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "nvshmemrs._fast", .m_methods = methods, .m_slots = slots,
};

PyMODINIT_FUNC PyInit__fast(void) { return PyModuleDef_Init(&definition); }
