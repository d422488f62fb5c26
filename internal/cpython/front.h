/* Functions of the program's own that stand in front of the C library's. */
#ifndef IPYTHON_MCP_FRONT_H
#define IPYTHON_MCP_FRONT_H

#include <dlfcn.h>
#include <stddef.h>

/* A function of the C library's with the same parameters, in front of which `before` happens; it may return instead. */
#define IN_FRONT_OF(result, name, parameters, arguments, before) \
	static result(*next_##name) parameters; \
	result name parameters { \
		if (next_##name == NULL) { \
			next_##name = (result(*) parameters)dlsym(RTLD_NEXT, #name); \
		} \
		before; \
		return next_##name arguments; \
	}

#endif
