// Package dyntools turns live Python callables into MCP tools: it makes the JSON Schema and the fingerprint of a
// described callable, checks names and arguments, and keeps the registry of what is registered, live or stale.
//
// It never sees Python, the MCP library or a pipe. Bytes that Python sent come in as a [Binding]; JSON goes out.
//
//	register_tool ──> ParseRequest ──> Registry.Check ──> (Python describes) ──> Registry.Register
//	any operation ──> (Python compares tokens) ──> Registry.Reconcile ──> list changed?
//	tools/list    ──> Registry.View ──> View.Tools
//	tools/call    ──> View.Lookup ──> Schema.Validate ──> (Python converts and calls)
//
// # Goroutines
//
// Everything but [Registry] is immutable once made. Register, Unregister, Reconcile and Reset belong into the
// section that serializes namespace operations, so that registry and namespace change together; a lock keeps them
// whole elsewhere too. [Registry.View] never waits and may be called at any time: a [View] is one consistent state
// of list, states and revision.
//
// # Revision
//
// The revision is that of the advertised list, which is what tools/list shows: name, description and schema of
// every live registration. One operation that changes the list, however many entries, raises it by one; anything
// else leaves it:
//
//	new registration                                  +1
//	live, registered again, entry as before            0
//	live, registered again, other text or schema      +1
//	stale, registered again                           +1   (the entry comes back)
//	schema changed, name gone or not callable         +1   (the entry leaves)
//	rebound to an equal schema                         0   (only the token is renewed)
//	stale, and changed once more                       0
//	unregistered, or reset: live ones                 +1
//	unregistered, or reset: only stale ones, or none   0
//
// A stale registration keeps its symbol, its tool name and its place in the catalogue until it is registered again
// or unregistered; it does not come back by itself when the old signature does.
//
// # The neutral form
//
// Python answers for a symbol with one object, a [Binding]:
//
//	{"symbol": "area", "state": "callable", "callable": {…}}
//
// state is "callable"; "same" (the token is the one that the registry holds; nothing was described); "missing"
// (the name is unbound); or "not_callable". Reconcile treats a symbol that it is told nothing about like "same".
//
// A callable:
//
//	{"callable_kind": "plain",
//	 "token": "…",
//	 "docstring": "inspect.getdoc's text, or empty",
//	 "problem": "",
//	 "parameters": [{"name": "width", "kind": "positional_or_keyword", "annotation": {"kind": "float"},
//	                 "default": 1.5, "default_problem": "", "description": "from the docstring, or empty"}, …]}
//
// Its fields:
//
//   - callable_kind: "plain", "coroutine", "generator", "async_generator". Python looks through functools.wraps,
//     partial and a callable object's __call__ before it says "plain". All others are unsupported_callable_kind.
//   - token: an opaque string of everything that can change the signature or the conversion. Equal tokens mean
//     that nothing needs to be described again. It is no part of the fingerprint.
//   - problem: why there is no signature at all (inspect.signature failed, annotations that do not resolve as a
//     whole, a cycle of wrappers). Non-empty means unsupported_signature with this text.
//   - parameters: in the order of inspect.signature, which has already been applied to classes, partials and
//     bound methods.
//   - kind: "positional_only", "positional_or_keyword", "var_positional", "keyword_only", "var_keyword".
//   - annotation: a type (below), or null where the parameter has none.
//   - default: present, also as null, exactly where there is a default that is JSON. A default that is not JSON
//     (a NaN, a lone surrogate, an object) leaves it out and says why in default_problem. Numbers stand as
//     json.dumps writes them; 1 and 1.0 are different defaults.
//   - description: of the parameter, from the docstring. It is advertised but belongs to neither schema nor
//     fingerprint, so that an edited docstring makes nothing stale.
//
// A type is one object with "kind":
//
//	str int float bool none
//	list set frozenset tuple_of       "of": type               list[T], set[T], frozenset[T], tuple[T, ...]
//	dict                              "of": type               dict[str, T]; other keys are "unsupported"
//	tuple                             "items": [type, …]       tuple[A, B]; no items for tuple[()]
//	union                             "items": [type, …]       in any order, nested or not
//	literal                           "values": [JSON, …]      in the order of the annotation, scalars only
//	described                         "of": type, "text": "…"  Annotated[T, "text"]; for other metadata Python sends T
//	enum                              "name", "values"         the members' values, or their names where not all
//	                                                           values are distinct JSON scalars
//	typed_dict dataclass model        "name", "fields": [{"name", "annotation", "required", "default", "description"}, …]
//	string                            "format": date-time, date, time, duration, uuid, path, base64
//	unsupported                       "reason": "…"            anything else, a name that does not resolve included
//	recursive                         "name"                   sent in place of a class that is already being described
//
// A field's "required" is explicit; a default that is not JSON (a factory) leaves an optional field without
// "default". Its "description" comes from Annotated or the class itself and is part of the schema.
//
// Python keeps describing bounded: after [MaxTypes] types of one callable it sends "unsupported" and stops. Go
// refuses a schema of more than [MaxSchemaBytes] and types nested deeper than [MaxTypeDepth].
//
// # Schema
//
// Object kinds become objects of their fields without additional ones; formats are annotations and are not
// asserted here: the conversion in Python reports a text that is no date as invalid_arguments. base64 also sets
// contentEncoding. Unions are flattened, de-duplicated by type as typing does it, and sorted by the canonical JSON
// of the branch. Numbers follow JSON Schema: 1.0 and 1e2 are integers, booleans are no numbers, 2**80 is exact.
// Python gets the arguments as the client wrote them, so that it converts such an integer from its text.
//
// Identifiers are judged by Go's Unicode version; whether a name exists is Python's to say.
package dyntools
