package tests

import (
	"regexp"
	"strings"
	"testing"
)

// The log says which tool, how it went and how long it took; never code, arguments, results, values, names of the
// user's.
func TestLog(t *testing.T) {
	for _, level := range []string{"debug", "info", "warn", "error"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{
				env: []string{
					"IPYTHON_MCP_LOG_LEVEL=" + level, "SECRET_OF_THE_CLIENT=hidden_client",
					`IPYTHON_MCP_ENVIRONMENT_VARIABLES={"TOKEN":"hidden_variable"}`,
				},
				library: map[string]string{"failing.py": "hidden_local = 'hidden_local'\n" +
					"raise ValueError('hidden_error')"},
			})
			s.equals("import os; hidden_name = 'hidden_value'; os.environ['TOKEN']", `"hidden_variable"`)
			s.cell("hidden_local = 1\nraise ValueError('hidden_message')")
			s.cell("hidden syntax error")
			s.cell("print('hidden_output'); display('hidden_display'); 'hidden_result'")
			s.call("call_function", map[string]any{"name": "hidden_name.upper", "arguments": map[string]any{}})
			s.call("call_function", map[string]any{"name": "hidden_missing", "arguments": "hidden_arguments"})
			s.call("search", map[string]any{"query": "hidden_query"})
			s.call("inspect", map[string]any{"name": "hidden_object"})
			s.call("remove", map[string]any{"names": []string{"hidden_removed"}})
			s.call("reload", map[string]any{"modules": []string{"failing", "hidden_module"}})
			s.send("tools/call", map[string]any{"name": "hidden_tool"})
			s.send("hidden/method", map[string]any{"hidden_param": 1})
			s.send("tools/call", map[string]any{"name": "execute", "arguments": map[string]any{"hidden_argument": 1}})
			s.sendLine(`{"hidden_json`)
			s.notify("hidden/notification", map[string]any{"hidden": 1})
			id := s.running("hidden_loop = True\nwhile hidden_loop: pass")
			s.cancel(id)
			s.works("the cancellation")
			s.running("while 'hidden_at_the_end': pass")
			s.closeInput()
			s.ends()
			log := s.stderrAtEnd()
			lacks(t, log, "hidden")
			if level == "debug" || level == "info" {
				mentions(t, log, "tool=execute outcome=ok duration=", "tool=execute outcome=execution_error",
					"tool=call_function outcome=", "tool=reload outcome=")
			}
			for line := range strings.Lines(log) {
				if !logLine.MatchString(line) {
					t.Errorf("the log has the line %q", line)
				}
			}
		})
	}
}

var logLine = regexp.MustCompile(`^time=\S+ level=(DEBUG|INFO|WARN|ERROR) msg=`)

// A client need not read the log: the server serves on when the pipe is full, and ends as ever.
func TestLog_Unread(t *testing.T) {
	t.Parallel()
	s := connect(t, options{deaf: true})
	for range 3000 {
		s.call("list", map[string]any{})
	}
	s.works("a full log")
	s.closeInput()
	s.ends()
	if log := s.stderrAtEnd(); strings.Count(log, "tool=list") < 500 {
		t.Errorf("the log is %.2000q", log)
	}
}

// Retired variables are ignored with one warning that names them.
func TestLog_RetiredVariables(t *testing.T) {
	t.Parallel()
	retired := []string{
		"OPERATION_TIMEOUT_SECONDS", "INTERRUPTION_GRACE_SECONDS", "WORKER_STARTUP_TIMEOUT_SECONDS",
		"MAX_PENDING_OPERATIONS", "QUEUE_WAIT_TIMEOUT_SECONDS", "MAX_IPC_MESSAGE_BYTES",
	}
	var env []string
	for _, name := range retired {
		env = append(env, "IPYTHON_MCP_"+name+"=not even a number")
	}
	s := connect(t, options{env: env})
	s.works("the start")
	warnings := 0
	for line := range strings.Lines(s.stderr()) {
		if strings.Contains(line, "level=WARN") {
			warnings++
			for _, name := range retired {
				mentions(t, line, "IPYTHON_MCP_"+name)
			}
			lacks(t, line, "not even")
		}
	}
	if warnings != 1 {
		t.Errorf("%d warnings in\n%s", warnings, s.stderr())
	}
	quiet := connect(t, options{env: []string{"IPYTHON_MCP_OPERATION_TIMEOUT_SECONDS=" + emptyValue}})
	quiet.works("the start")
	lacks(t, quiet.stderr(), "OPERATION_TIMEOUT")
}
