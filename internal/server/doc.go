// Package server is the MCP surface of the namespace: a transport for newline-delimited JSON-RPC, the table of tools,
// the check of their arguments and the form of their results. It alone imports the MCP library (mcp-go), whose
// protocol core (initialize, server/discover, tools/list, both protocol eras) is used through
// MCPServer.HandleMessage; its stdio server is not used.
//
//	bytes ──> lineReader ──> accept ──> job ──> perform ──> Namespace
//	            one reader     ordered     │       tool       waits for its ticket's turn
//	            at a time                  │
//	bytes <────────────── writer <─────────┘ one Write per message
//
// Dynamic tools live in a dyntools.Registry that the server owns. It changes in the turn of the operation that changes
// it: register_tool and unregister_tool take a turn, and the namespace reports to the watcher in the turn of every other
// operation. tools/list and the arrival of a call read one immutable view of it and never wait.
//
// What running code asks its user goes out as a request of the session's own (elicit.go). From revision 2026-07-28 on, it
// is the answer of a call, which the client sends again with what the user says (parking.go).
//
// # Goroutines
//
// A session has one reader at a time. What must keep the order of arrival (reserving a place in the namespace's
// queue, cancellation, initialize) happens in accept, on the reader, and never blocks. The rest of a request is a
// job. The reader runs it itself, because waking another goroutine costs more than most requests; when a job takes
// longer than a moment, another goroutine takes the role of the reader over (role.go). So any number of slow calls
// wait side by side while ping and tools/list are answered. A call that has its turn at once is run on the interpreter's
// thread, where that can be lent, and so is the reader from then on until the interpreter needs its thread (lent.go).
//
// # Ownership
//
// Everything is per session: no package-level state, so that one [Server] can serve several connections. A [Server]'s
// methods may be called from any goroutine. The reader of [Server.Serve] may stay in Read after Serve has returned;
// whoever owns the input closes it.
//
// # Never
//
// It never logs code, arguments, results or a client's text; it never puts a cancelled call's answer on the wire;
// it never sends a notification to a client that has not finished its handshake or asked for it.
package server
