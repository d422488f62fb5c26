package server

import (
	"context"
	"encoding/json"
	"fmt"

	"ipython-mcp/dyntools"
	"ipython-mcp/shell"
)

// maxArgumentDepth is how deep the arguments of a function may be nested. Python's own decoder gives up a little
// further down, where it would take the whole request with it.
const maxArgumentDepth = 200

// callFunction calls the live tool of that name, or else what the name stands for in the namespace. The keyword
// arguments are handed on as they were sent: numbers stay what they are.
func (s *Server) callFunction(ctx context.Context, t *shell.Ticket, args arguments) (shell.CallAnswer, error) {
	name, keywords := args.text("name"), args.raw["arguments"]
	if keywords[0] == '"' {
		keywords = json.RawMessage(args.text("arguments"))
	}
	if problem := keywordProblem(keywords); problem != "" {
		return shell.CallAnswer{Error: &shell.Error{Code: "invalid_arguments", Message: problem}}, nil
	}
	keywords = escapeLoneSurrogates(keywords)
	return s.inTurn(ctx, t, func(turn shell.Turn) (shell.CallAnswer, error) {
		registered, is := s.registry.View().Lookup(name)
		if is && registered.State == dyntools.Live {
			return s.callTool(turn, name, keywords)
		}
		answer, err := turn.CallFunction(name, keywords)
		if is && answer.Error != nil && answer.Error.Code == string(dyntools.NameNotFound) {
			answer.Error = errorOf(registered.Call())
		}
		return answer, err
	})
}

// keywordProblem says why text is no object of keyword arguments; it is empty for one that is.
func keywordProblem(text json.RawMessage) string {
	if !json.Valid(text) {
		return "arguments is a string that holds no valid JSON: " + syntaxProblem(text)
	}
	begin := skipSpace(text, 0)
	if text[begin] != '{' {
		return "arguments must be a JSON object of keyword arguments"
	}
	if _, depth := skipNested(text, begin); depth > maxArgumentDepth {
		return fmt.Sprintf("arguments is nested %d levels deep; at most %d are taken", depth, maxArgumentDepth)
	}
	return ""
}
