/* A compiled kernel as a function of Python that takes nothing: CasADi's own way to call it takes three times
 * as long, which is a quarter of the time that a small mechanism's accelerations take.
 *
 * What is declared here belongs to Python's stable interface, so that no headers are needed. */
#include <string.h>

typedef struct _object PyObject;
extern PyObject _Py_NoneStruct, _Py_TrueStruct, _Py_FalseStruct, *PyExc_RuntimeError;
extern void Py_IncRef(PyObject *);
extern void *PyCapsule_GetPointer(PyObject *, const char *);
extern void PyErr_SetString(PyObject *, const char *);

typedef struct {
  int (*run)(const double **, double **, long long *, double *, int);
  const double **arg, *const *in;  /* `run` may overwrite the lists that it gets */
  double **res, *const *out;
  long long *iw;
  double *w;
  long long n_in, n_out;
  double *to;  /* where `take` moves what a step found, unless it has something to say */
  const double *from, *said;
  long long n_moved, n_said;
} bound;

static bound *run(PyObject *self) {
  bound *b = PyCapsule_GetPointer(self, 0);
  if (!b) return 0;
  memcpy(b->arg, b->in, b->n_in * sizeof(*b->in));
  memcpy(b->res, b->out, b->n_out * sizeof(*b->out));
  if (b->run(b->arg, b->res, b->iw, b->w, 0)) {
    PyErr_SetString(PyExc_RuntimeError, "a kernel failed");
    return 0;
  }
  return b;
}

static PyObject *given(PyObject *object) {
  Py_IncRef(object);
  return object;
}

PyObject *call(PyObject *self, PyObject *nothing) {
  (void)nothing;
  return run(self) ? given(&_Py_NoneStruct) : 0;
}

/* True if the code has something to say, which Python then hears; else what it found is moved. */
PyObject *take(PyObject *self, PyObject *nothing) {
  const bound *b = run(self);
  (void)nothing;
  if (!b) return 0;
  for (long long k = 0; k < b->n_said; ++k)
    if (b->said[k] != 0) return given(&_Py_TrueStruct);
  memcpy(b->to, b->from, b->n_moved * sizeof(*b->to));
  return given(&_Py_FalseStruct);
}
