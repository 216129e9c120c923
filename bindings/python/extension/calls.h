// For fast.c: the calls.

// --- calls ------------------------------------------------------------------------------------------

// In place of a Python function.
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *python;
    const void *row;
} Function;

typedef struct {
    PyObject *const *args;
    size_t count;
    PyObject *names;
} Call;

static Call call_of(PyObject *const *args, size_t flags, PyObject *names) {
    return (Call){args, flags & ~PY_VECTORCALL_ARGUMENTS_OFFSET, names};
}

// Whether there are so many arguments, none with a name.
static bool takes(const Call *call, size_t count) { return call->count == count && call->names == NULL; }

// Whether there are `before` arguments and a PE behind them, perhaps by name.
static bool takes_pe(const Call *call, size_t before, int32_t *pe) {
    if (call->names != NULL) {
        if (call->count != before || PyTuple_Size(call->names) != 1) {
            return false;
        }
        PyObject *name = PyTuple_GetItem(call->names, 0);
        if (name != pe_name && name != remote_pe_name) {
            return false;
        }
    } else if (call->count != before + 1) {
        return false;
    }
    return int32_of(call->args[before], pe);
}

#define PASS_ON() PyObject_Vectorcall(((Function *)self)->python, args, flags, names)
#define ARGUMENTS PyObject *self, PyObject *const *args, size_t flags, PyObject *names

// Calls the library while other Python threads run. They may set `runtime`, so the expression uses `own`.
#define WHILE_OTHERS_RUN(expression)               \
    do {                                           \
        const nvshmemrs_runtime_t own = runtime;   \
        Py_BEGIN_ALLOW_THREADS                     \
        status = (expression);                     \
        Py_END_ALLOW_THREADS                       \
    } while (0)

static PyObject *failed(int32_t status) { return PyObject_CallFunction(raise_status, "i", (int)status); }

static PyObject *finished(int32_t status) {
    if (status) {
        return failed(status);
    }
    Py_RETURN_NONE;
}

// Whether no operation holds arrays until quiet.
static bool is_idle(void) {
    PyObject *in_flight = PyObject_GetAttr(job, in_flight_name);
    if (in_flight == NULL) {
        PyErr_Clear();
        return false;
    }
    bool is = PyDict_CheckExact(in_flight) && PyDict_Size(in_flight) == 0;
    Py_DECREF(in_flight);
    return is;
}

// A call without a result: where it takes the arguments, `expression` calls the library, else the Python function is called.
#define CALL(name, variables, takes_arguments, expression) \
    static PyObject *name(ARGUMENTS) {                     \
        Call call = call_of(args, flags, names);           \
        variables;                                         \
        int32_t status;                                    \
        if (!runtime || !(takes_arguments)) {              \
            return PASS_ON();                              \
        }                                                  \
        WHILE_OTHERS_RUN(expression);                      \
        return finished(status);                           \
    }

CALL(put, View to; View of; int32_t pe,
     takes_pe(&call, 2, &pe) && views_of(args[0], args[1], &to, &of),
     c_put(own, to.address, of.address, of.bytes, pe))

CALL(get, View to; View of; int32_t pe,
     takes_pe(&call, 2, &pe) && views_of(args[0], args[1], &to, &of) && to.is_writeable,
     c_get(own, to.address, of.address, of.bytes, pe))

CALL(p, View to; Element value; int32_t pe,
     takes_pe(&call, 2, &pe) && view_of(args[0], &to) && element_of(args[1], to.kind->code, &value),
     c_put(own, to.address, &value, (size_t)to.kind->size, pe))

static PyObject *g(ARGUMENTS) {
    Call call = call_of(args, flags, names);
    View of;
    Element value;
    int32_t pe, status;
    if (!runtime || !takes_pe(&call, 1, &pe) || !view_of(args[0], &of) || !is_number(of.kind->code)) {
        return PASS_ON();
    }
    WHILE_OTHERS_RUN(c_get(own, &value, of.address, (size_t)of.kind->size, pe));
    if (status) {
        return failed(status);
    }
    PyObject *number = number_of(of.kind->code, &value);
    if (number == NULL) {
        return NULL;
    }
    PyObject *scalar = PyObject_CallFunctionObjArgs(of.kind->scalar, number, NULL);
    Py_DECREF(number);
    return scalar;
}

// The address of a signal, which is one integer of 64 bits.
static bool signal_of(PyObject *value, uint64_t **signal) {
    View view;
    if (!view_of(value, &view) || view.bytes != sizeof **signal) {
        return false;
    }
    *signal = view.address;
    return view.kind->code == NVSHMEMRS_DTYPE_UINT64 || view.kind->code == NVSHMEMRS_DTYPE_INT64;
}

CALL(put_signal, View to; View of; uint64_t *signal; uint64_t value; int32_t pe; int32_t how,
     takes_pe(&call, 5, &pe) && views_of(args[0], args[1], &to, &of) && signal_of(args[2], &signal) &&
         uint64_of(args[3], &value) && member_of(args[4], update_type, &how),
     c_put_signal(own, to.address, of.address, of.bytes, signal, value, how, pe))

CALL(signal_op, uint64_t *signal; uint64_t value; int32_t pe; int32_t how,
     takes_pe(&call, 3, &pe) && signal_of(args[0], &signal) && uint64_of(args[1], &value) &&
         member_of(args[2], update_type, &how),
     c_signal_op(own, signal, value, how, pe))

CALL(wait_until, View view; Element value; int32_t how,
     takes(&call, 3) && view_of(args[0], &view) && member_of(args[1], cmp_type, &how) &&
         element_of(args[2], view.kind->code, &value),
     c_wait_until(own, view.address, how, &value, view.kind->code))

CALL(quiet, , takes(&call, 0) && is_idle(), c_quiet(own))
CALL(fence, , takes(&call, 0), c_fence(own))
CALL(barrier, nvshmemrs_team_t team, takes(&call, 1) && team_of(args[0], &team) && is_idle(), c_barrier(own, team))
CALL(barrier_all, , takes(&call, 0) && is_idle(), c_barrier(own, NVSHMEMRS_TEAM_WORLD))
CALL(sync_all, , takes(&call, 0), c_sync(own, NVSHMEMRS_TEAM_WORLD))

static PyObject *signal_wait(ARGUMENTS) {
    Call call = call_of(args, flags, names);
    uint64_t *signal, value, seen = 0;
    int32_t how, status;
    if (!runtime || !takes(&call, 3) || !signal_of(args[0], &signal) || !uint64_of(args[1], &value) ||
        !member_of(args[2], cmp_type, &how)) {
        return PASS_ON();
    }
    WHILE_OTHERS_RUN(c_signal_wait(own, signal, how, value, &seen));
    return status ? failed(status) : PyLong_FromUnsignedLongLong(seen);
}

static PyObject *reduce(ARGUMENTS) {
    Call call = call_of(args, flags, names);
    View to, of;
    nvshmemrs_team_t team;
    int32_t status;
    if (!runtime || !takes(&call, 4) || !team_of(args[0], &team) || !views_of(args[1], args[2], &to, &of) ||
        !to.is_writeable || of.kind->code < 0) {
        return PASS_ON();
    }
    PyObject *number = NULL;
    if (PyUnicode_CheckExact(args[3])) {
        number = PyDict_GetItemWithError(reductions, args[3]);
    } else if ((PyObject *)Py_TYPE(args[3]) == op_type) {
        number = args[3];
    }
    if (number == NULL) {
        PyErr_Clear();
        return PASS_ON();
    }
    int32_t op = (int32_t)PyLong_AsLong(number);
    size_t count = of.bytes / (size_t)of.kind->size;
    WHILE_OTHERS_RUN(c_reduce(own, team, to.address, of.address, count, of.kind->code, op));
    return finished(status);
}

// --- atomic operations ------------------------------------------------------------------------------

static bool is_atomic(const Atomic *atomic, int32_t code) {
    switch (code) {
    case NVSHMEMRS_DTYPE_INT32:
    case NVSHMEMRS_DTYPE_UINT32:
    case NVSHMEMRS_DTYPE_INT64:
    case NVSHMEMRS_DTYPE_UINT64:
        return true;
    default:
        return atomic->has_floats && (code == NVSHMEMRS_DTYPE_FLOAT || code == NVSHMEMRS_DTYPE_DOUBLE);
    }
}

static PyObject *atomic_operation(ARGUMENTS) {
    Call call = call_of(args, flags, names);
    const Atomic *atomic = ((Function *)self)->row;
    View view;
    Element values[2], old;
    int32_t pe, status;
    if (!runtime || !takes_pe(&call, 1 + (size_t)atomic->values, &pe) || !view_of(args[0], &view)) {
        return PASS_ON();
    }
    if (!is_atomic(atomic, view.kind->code)) {
        return PASS_ON();
    }
    for (int at = 0; at < atomic->values; at++) {
        if (!element_of(args[1 + at], view.kind->code, &values[at])) {
            return PASS_ON();
        }
    }
    WHILE_OTHERS_RUN(atomic->function(own, view.kind->code, view.address, values, pe, &old));
    return status || !atomic->returns ? finished(status) : number_of(view.kind->code, &old);
}
