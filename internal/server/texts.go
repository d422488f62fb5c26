package server

import (
	"strings"

	reflected "github.com/invopop/jsonschema"
)

// What clients and models read about the stable tools. Key facts come first, since clients cut long descriptions; each
// stays below 2,000 characters.

// instructions is what a client may show the model once, about all tools.
var instructions = unwrap(`
One live IPython session. Names, imports and state stay from call to call until this server ends, so work in steps:
run a little, look, go on. Nothing is shared with other servers and nothing is saved at the end.

- execute runs any code that IPython runs and returns the value of the last expression, printed text, figures and
pictures as images and, on failure, the traceback. A failure is an ordinary answer with "ok": false; the session lives
on and keeps what ran before. With persist false a run leaves no name behind.
- Code that takes longer than wait_seconds goes on, and the answer has status "running": get_execution waits for its
end, interrupt stops it. Both work while code runs. Do not send the code again.
- call_function calls one function with JSON arguments and returns its JSON result.
- list, search and inspect look around. Use them instead of printing dir() or help().
- register_tool makes a function a tool of its own with checked arguments; unregister_tool takes it back.
- reload picks up a module whose file has changed and says which names still belong to the old version; remove and
reset clean up.

Calls run one at a time, in the order in which they arrive. Text is bounded: of long output the beginning and the end
are returned and the number of characters left out is stated; read_output reads the rest. Keep large values in variables
and print summaries.
`)

// unwrap joins the lines of each paragraph, and of each item that starts with a dash.
func unwrap(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n\n", "\x00\x00")
	text = strings.ReplaceAll(text, "\n- ", "\x00- ")
	return strings.NewReplacer("\n", " ", "\x00", "\n").Replace(text)
}

const defaultSearchLimit = 50

// noArguments is the input of tools that take none.
type noArguments struct{}

type executeInput struct {
	Code    string `json:"code" jsonschema_description:"Python code as one would type it into IPython."`
	Persist bool   `json:"persist,omitempty" jsonschema:"default=true,description=With false\\, names that the code binds\\, rebinds or deletes are as before afterwards."`
	clockInput
}

// clockInput is what a call may say about time.
type clockInput struct {
	Wait    float64 `json:"wait_seconds,omitempty" jsonschema:"minimum=0,description=Answer after this time with status running if the code still runs; 0: at once. By default 45\\, unless the server is set otherwise."`
	Timeout float64 `json:"timeout_seconds,omitempty" jsonschema:"minimum=0.001,description=Interrupt the code after this time. By default never\\, unless the server is set otherwise."`
}

type callInput struct {
	Name      string         `json:"name" jsonschema_description:"A function's name or dotted path, such as df.head."`
	Arguments callParameters `json:"arguments" jsonschema_description:"Keyword arguments as an object, {} for none."`
	clockInput
}

// callParameters is a JSON object, or a string that holds one, as some clients can only send strings.
type callParameters struct{}

// JSONSchema implements the reflection's hook.
func (callParameters) JSONSchema() *reflected.Schema {
	return &reflected.Schema{AnyOf: []*reflected.Schema{
		{Type: "object"},
		{Type: "string", Description: "A JSON object as text."},
	}}
}

type searchInput struct {
	Query string `json:"query" jsonschema_description:"Part of a name, in any case; with exact, the whole name."`
	Exact bool   `json:"exact,omitempty" jsonschema:"default=false,description=Match the whole name as it is written."`
	Limit int    `json:"limit,omitempty" jsonschema:"default=50,description=Most results to return\\, from 1 upwards."`
}

type reloadInput struct {
	Modules []string `json:"modules" jsonschema_description:"Dotted module names, as in an import statement."`
	Refresh bool     `json:"refresh,omitempty" jsonschema:"default=false,description=Bind names that were imported from the modules anew."`
}

type inspectInput struct {
	Name string `json:"name" jsonschema_description:"A name or a dotted path, such as df.shape."`
}

type removeInput struct {
	Names []string `json:"names" jsonschema_description:"Top-level names to delete, without dots."`
}

var executeText = toolText{
	name:  "execute",
	title: "Run Python code",
	hints: hints{destructive: true, openWorld: true},
	input: executeInput{},
	description: `
Run Python code in one persistent IPython session: names, imports and state from earlier calls are there, and stay.

Takes whatever IPython takes: expressions, statements, definitions, multi-line blocks, top-level await, magics (%time,
%%timeit; %pip install, where the server has an environment) and shell lines (!ls). The value of the last expression is the result; end with an expression instead of
printing it. A value that is no JSON comes back as its type, representation and text. Figures (matplotlib, without any
magic) and other pictures come back as images; other binary displays as files.

On failure "ok" is false and "error" has the code, the exception's class, the message, the location and the traceback;
what was printed before is there too, and what ran before the failure stays in effect. sys.exit() does not end the
session.

With persist false the code sees the session as ever, but leaves no name behind: for looking around and trying out.
Objects that it changes stay changed.

Code that takes longer than wait_seconds goes on, and the answer has status "running" and an execution_id:
get_execution waits for the end, interrupt stops it. Do not send the code again. Other calls wait for their turn
meanwhile, and answer the error busy where it does not come in time; those never run. timeout_seconds interrupts code
that must not take longer.

input() and getpass() ask the client's user where the client can show a form, else they raise EOFError.

Of long output the beginning and the end are returned with the number of omitted characters; read_output reads the
rest. Assign large values to names and look at parts of them.`,
}

var listText = toolText{
	name:  "list",
	title: "List functions",
	hints: hints{readOnly: true, idempotent: true},
	input: noArguments{},
	description: `
List the functions, classes and other callables that the session's top level holds, sorted by name, each with its
signature, module and the beginning of its documentation. For variables and modules too, use search.`,
}

var callText = toolText{
	name:  "call_function",
	title: "Call a function",
	hints: hints{destructive: true, openWorld: true},
	input: callInput{},
	description: `
Call one function of the session with JSON keyword arguments and get its JSON result. Better than execute where a
function already exists: nothing has to be quoted.

The name may be dotted (obj.method); parts that start with "__" are not reachable. The name of a registered tool calls
that tool, with the same check and conversion of its arguments.

On failure "ok" is false and error.code says why: name_not_found, not_callable, invalid_arguments, stale_registration,
argument_binding_error (the arguments do not fit the signature), callable_error (the function raised; see the traceback)
or result_not_json (it ran, but its result is no JSON: use execute). With status "running" the call goes on:
get_execution with its execution_id waits for the end.`,
}

var searchText = toolText{
	name:  "search",
	title: "Search names",
	hints: hints{readOnly: true, idempotent: true},
	input: searchInput{},
	description: `
Find names at the session's top level (variables, functions, types, modules) by a part of their name. Each result has
its kind, type, a short representation of its value and the beginning of its documentation.`,
}

var reloadText = toolText{
	name:  "reload",
	title: "Reload modules",
	hints: hints{destructive: true, openWorld: true},
	input: reloadInput{},
	description: `
Import modules, or reload them after their files have changed, and bind them in the session. Use this after editing a
.py file that was already imported. One result per module, whichever fails; given several, a module is reloaded after
those that it imports.

Each result's "stale" lists the session's names that still belong to the old version, and why: names imported with "from
module import name", instances of old classes, bound methods, registered tools. With refresh, imported names are bound to
the new version and listed in "refreshed"; instances have to be made anew.`,
}

var inspectText = toolText{
	name:  "inspect",
	title: "Inspect a name",
	hints: hints{readOnly: true, idempotent: true},
	input: inspectInput{},
	description: `
Describe one object of the session: kind, type, signature, module, documentation and a short representation. Dotted
names reach attributes (df.columns, np.linalg.svd). Use it before calling something unfamiliar.`,
}

var removeText = toolText{
	name:  "remove",
	title: "Remove names",
	hints: hints{destructive: true, idempotent: true},
	input: removeInput{},
	description: `
Delete names from the session's top level. Every name ends up in exactly one list: removed, refused (protected: names
that start with "_", IPython's own, configured modules) or unknown (not there). Memory is freed only where nothing else
refers to the object.`,
}

var resetText = toolText{
	name:  "reset",
	title: "Reset the session",
	hints: hints{destructive: true, idempotent: true},
	input: noArguments{},
	description: `
Delete every name that was defined in the session and restore IPython's own names and the configured modules. Also puts
back functions of the standard library that code of the session has replaced. Cannot be undone. Imported modules stay
loaded, the execution count goes on, files and child processes are untouched.`,
}
