#define _GNU_SOURCE
#include "module.h"
#include "bridge.h"
#include "combine.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "_cgo_export.h"

/* What the stable ABI fixes, for lack of Python's headers. Beside it, only PyFunction's accessors are called. Builds with another layout of
 * objects (free-threaded ones) are not loaded. */
typedef struct object object;
typedef ptrdiff_t py_size;

typedef struct {
	const char *name;
	void *function;
	int flags;
	const char *documentation;
} method;

typedef struct {
	struct {
		py_size references;
		void *type;
		void *init;
		py_size index;
		void *copy;
	} base;
	const char *name;
	const char *documentation;
	py_size size;
	method *methods;
	void *slots, *traverse, *clear, *release;
} module_definition;

enum { FUNCTION_PARTS = 5 };
enum { ONE_ARGUMENT = 0x0008, FAST_CALL = 0x0080, STABLE_ABI = 3, ATTEMPTS = 10 };

static struct {
	int (*append_inittab)(const char *name, object *(*init)(void));
	object *(*module_create)(module_definition *definition, int version);
	void *(*save_thread)(void);
	void (*restore_thread)(void *state);
	object *(*bytes)(const char *data, py_size size);
	int (*bytes_content)(object *bytes, char **data, py_size *size);
	object *(*from_size)(size_t number);
	object *(*from_long)(long number);
	py_size (*length)(object *text);
	const char *(*utf8)(object *text, py_size *size);
	object *(*attribute)(object *owner, const char *name);
	object *(*function)(method *definition, object *self, object *module);
	object *(*call)(object *callable, ...);
	object *(*item)(object *tuple, py_size index);
	py_size (*list_size)(object *list);
	object *(*list_item)(object *list, py_size index);
	int (*next)(object *dict, py_size *position, object **key, object **value);
	object *(*get_code)(object *function);
	object *(*get_defaults)(object *function);
	object *(*get_keyword_defaults)(object *function);
	object *(*get_annotations)(object *function);
	object *(*get_dict)(object *owner, void *unused);
	object *(*truth)(long value);
	long (*to_long)(object *number);
	object *(*build)(const char *format, ...);
	void (*forget)(object *reference);
	void (*clear_error)(void);
	object *(*no_memory)(void);
	int (*check_signals)(void);
} python;

static object *none;

/* Of Python's thread, and used by it only. */
static pid_t process;
static object *serve, *stand_by; /* borrowed from the call of lend that runs */
static void *state; /* of Python's thread while it does not have the GIL */

int module_load(void *handle) {
	const struct {
		const char *name;
		void **function;
	} wanted[] = {
		{"PyImport_AppendInittab", (void **)&python.append_inittab},
		{"PyModule_Create2", (void **)&python.module_create},
		{"PyEval_SaveThread", (void **)&python.save_thread},
		{"PyEval_RestoreThread", (void **)&python.restore_thread},
		{"PyBytes_FromStringAndSize", (void **)&python.bytes},
		{"PyBytes_AsStringAndSize", (void **)&python.bytes_content},
		{"PyLong_FromSize_t", (void **)&python.from_size},
		{"PyLong_FromLong", (void **)&python.from_long},
		{"PyUnicode_GetLength", (void **)&python.length},
		{"PyUnicode_AsUTF8AndSize", (void **)&python.utf8},
		{"PyObject_GetAttrString", (void **)&python.attribute},
		{"PyCFunction_NewEx", (void **)&python.function},
		{"PyObject_CallFunctionObjArgs", (void **)&python.call},
		{"PyTuple_GetItem", (void **)&python.item},
		{"PyList_Size", (void **)&python.list_size},
		{"PyList_GetItem", (void **)&python.list_item},
		{"PyDict_Next", (void **)&python.next},
		{"PyFunction_GetCode", (void **)&python.get_code},
		{"PyFunction_GetDefaults", (void **)&python.get_defaults},
		{"PyFunction_GetKwDefaults", (void **)&python.get_keyword_defaults},
		{"PyFunction_GetAnnotations", (void **)&python.get_annotations},
		{"PyObject_GenericGetDict", (void **)&python.get_dict},
		{"PyBool_FromLong", (void **)&python.truth},
		{"_Py_NoneStruct", (void **)&none},
		{"PyLong_AsLong", (void **)&python.to_long},
		{"Py_BuildValue", (void **)&python.build},
		{"Py_DecRef", (void **)&python.forget},
		{"PyErr_Clear", (void **)&python.clear_error},
		{"PyErr_NoMemory", (void **)&python.no_memory},
		{"PyErr_CheckSignals", (void **)&python.check_signals},
	};
	for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
		if ((*wanted[i].function = dlsym(handle, wanted[i].name)) == NULL) {
			return -1;
		}
	}
	return 0;
}

/* lend(serve, stand_by, descriptor): the thread runs what waits for it in Go. serve takes the bytes of a request and returns those of the reply,
 * and the descriptor for which to wait then. Where it fails, it is called with the same object again. User code can import the module, too:
 * out of place, its functions do nothing. */
static object *lend(object *module, object *const *arguments, py_size count) {
	(void)module;
	if (count != 3 || serve != NULL || !bridge_is_python_thread()) {
		return python.build("");
	}
	int descriptor = (int)python.to_long(arguments[2]);
	/* A signal before this is handled here, a later one is seen by who waits. */
	bridge_forget_wakes();
	if (python.check_signals() != 0) {
		return NULL;
	}
	serve = arguments[0];
	stand_by = arguments[1];
	state = python.save_thread();
	ipymcpLent(descriptor);
	python.restore_thread(state);
	serve = stand_by = NULL;
	return python.build("");
}

static int in_lent_request(void) { return serve != NULL && bridge_is_python_thread(); }

/* emit(frame): a frame that comes before the reply. */
static object *emit(object *module, object *frame) {
	char *data, *copy;
	py_size size;
	(void)module;
	if (!in_lent_request()) {
		return python.build("");
	}
	if (python.bytes_content(frame, &data, &size) != 0) {
		return NULL;
	}
	copy = malloc((size_t)size + 1);
	if (copy == NULL) {
		return python.no_memory();
	}
	memcpy(copy, data, (size_t)size);
	void *here = python.save_thread();
	ipymcpEmitted(copy, (size_t)size);
	python.restore_thread(here);
	free(copy);
	return python.build("");
}

/* Go's runtime does not live in a forked child: it may not come back there. */
static void end_in_child(void) {
	if (getpid() != process) {
		_exit(EXIT_FAILURE);
	}
}

/* Copies a reply out of Python's object. */
static int take_reply(object *result, char **reply, size_t *size, int *descriptor) {
	char *data;
	py_size length;
	if (result == NULL || python.bytes_content(python.item(result, 0), &data, &length) != 0) {
		return -1;
	}
	*descriptor = (int)python.to_long(python.item(result, 1));
	*size = (size_t)length;
	*reply = malloc((size_t)length + 1);
	if (*reply == NULL) {
		return -1;
	}
	memcpy(*reply, data, (size_t)length);
	return 0;
}

/* An exception that another thread throws at this one may come before serve has begun, or behind its end. serve knows whether it had begun. */
static object *call_serve(object *request) {
	object *result = NULL;
	for (int attempt = 0; attempt < ATTEMPTS && result == NULL && getpid() == process; attempt++) {
		python.clear_error();
		result = python.call(serve, request, NULL);
	}
	return result;
}

int module_dispatch(const char *request, size_t length, char **reply, size_t *size, int *descriptor) {
	python.restore_thread(state);
	object *argument = python.bytes(request, (py_size)length);
	object *result = argument != NULL ? call_serve(argument) : NULL;
	end_in_child();
	int status = take_reply(result, reply, size, descriptor);
	if (status != 0) {
		python.clear_error();
	}
	python.forget(result);
	python.forget(argument);
	state = python.save_thread();
	return status;
}

void module_aside(int descriptor) {
	python.restore_thread(state);
	object *argument = python.from_long(descriptor);
	object *result = argument != NULL ? python.call(stand_by, argument, NULL) : NULL;
	end_in_child();
	if (result == NULL) {
		python.clear_error();
	}
	python.forget(result);
	python.forget(argument);
	state = python.save_thread();
}

static object *plain_write, *plain_flush; /* TextIOWrapper's; kept for good */
static int pending;                       /* something may be left of a plain write */

/* write of a UTF-8 stream over descriptor 1: small text that can be collected goes there at once. Everything else goes the plain
 * way, behind which it is flushed before more is collected. */
static object *write_text(object *stream, object *text) {
	py_size size = 0, length = python.length(text);
	const char *content = length >= 0 && (size_t)length < COMBINE_MOST ? python.utf8(text, &size) : NULL;
	if (content == NULL) {
		python.clear_error(); /* no text, or a lone surrogate */
	} else if (combine_is_collecting()) {
		if (pending) {
			object *done = python.call(plain_flush, stream, NULL);
			if (done == NULL) {
				return NULL;
			}
			python.forget(done);
			pending = 0;
		}
		if (combine_collect(content, (size_t)size)) {
			return python.from_size((size_t)length);
		}
	}
	pending = 1;
	return python.call(plain_write, stream, text, NULL);
}

static method write_method = {"write", (void *)write_text, ONE_ARGUMENT, NULL};

/* collect(type, stream): a write for that one stream, in place of its type's. */
static object *collect(object *module, object *const *arguments, py_size count) {
	(void)module;
	if (count != 2) {
		return python.build("");
	}
	if (plain_write == NULL) {
		plain_write = python.attribute(arguments[0], "write");
		plain_flush = python.attribute(arguments[0], "flush");
	}
	return plain_write == NULL || plain_flush == NULL ? NULL : python.function(&write_method, arguments[1], NULL);
}

static object *or_none(object *part) { return part != NULL ? part : none; }

/* Whether the parts of a function are those at the place, in the order of snapshots.function_parts. */
static int has_parts(object *function, object *parts, py_size place) {
	object *own = python.get_dict(function, NULL);
	object *now[] = {
		python.get_code(function), or_none(python.get_defaults(function)), or_none(python.get_keyword_defaults(function)),
		python.get_annotations(function), own,
	};
	py_size same = 0;
	while (same < FUNCTION_PARTS && now[same] != NULL && now[same] == python.list_item(parts, place + same)) {
		same++;
	}
	python.forget(own);
	return same == FUNCTION_PARTS;
}

/* Whether the items of a dictionary are those at *place, one key and one value after the other. Sets *place behind them. */
static int has_items(object *dict, object *items, py_size *place) {
	object *key, *value;
	for (py_size position = 0; python.next(dict, &position, &key, &value); *place += 2) {
		if (*place + 2 > python.list_size(items) || key != python.list_item(items, *place) ||
			value != python.list_item(items, *place + 1)) {
			return 0;
		}
	}
	return 1;
}

/* are_unchanged(functions, parts, annotations, items): whether plain functions have these parts, and their annotations these items; lists, the
 * last one of keys and values. Asks Python's structures and not the attributes, each of which is an audit event. */
static object *are_unchanged(object *module, object *const *arguments, py_size count) {
	(void)module;
	if (count != 4) {
		return python.build("");
	}
	object *functions = arguments[0], *parts = arguments[1], *annotations = arguments[2], *items = arguments[3];
	py_size place = 0;
	for (py_size i = 0; i < python.list_size(functions); i++) {
		if (!has_parts(python.list_item(functions, i), parts, i * FUNCTION_PARTS) ||
			!has_items(python.list_item(annotations, i), items, &place)) {
			python.clear_error();
			return python.truth(0);
		}
	}
	return python.truth(place == python.list_size(items));
}

static method methods[] = {
	{"are_unchanged", (void *)are_unchanged, FAST_CALL, NULL},
	{"collect", (void *)collect, FAST_CALL, NULL},
	{"lend", (void *)lend, FAST_CALL, NULL},
	{"emit", (void *)emit, ONE_ARGUMENT, NULL},
	{NULL, NULL, 0, NULL},
};

static module_definition definition = {
	.base = {.references = 1},
	.name = "_ipymcp",
	.size = -1,
	.methods = methods,
};

static object *init(void) { return python.module_create(&definition, STABLE_ABI); }

int module_register(void) {
	process = getpid();
	return python.append_inittab("_ipymcp", init);
}
