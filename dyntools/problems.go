package dyntools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipython-mcp/internal/bounds"
)

// Problem is one finding of invalid_arguments.
type Problem struct {
	// Path is a JSON pointer into the arguments; a missing or unexpected name is its last part. "/" is the whole.
	Path string `json:"path"`
	// Message says what is expected there and what was got, bounded.
	Message string `json:"message"`
}

const (
	// rootPath stands for the arguments as a whole, where a JSON pointer would be empty.
	rootPath = "/"
	// maxProblems is how many problems an error lists; the rest is counted.
	maxProblems = 10
	// pathChars and problemChars bound the texts of one problem, in characters.
	pathChars    = 200
	problemChars = 300
)

// invalidArguments sorts and bounds problems, of which there is at least one.
func invalidArguments(problems []Problem) *Error {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	more := len(problems) - maxProblems
	if more > 0 {
		problems = problems[:maxProblems]
	}
	texts := make([]string, 0, len(problems)+1)
	for i := range problems {
		problems[i].Path, _ = bounds.Cut(problems[i].Path, pathChars)
		problems[i].Message, _ = bounds.Cut(problems[i].Message, problemChars)
		texts = append(texts, problems[i].Path+": "+problems[i].Message)
	}
	if more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return &Error{
		Code:     InvalidArguments,
		Message:  "the arguments do not fit the schema: " + strings.Join(texts, "; "),
		Problems: problems,
	}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer renders a location as a JSON pointer (RFC 6901), the empty one as rootPath.
func pointer(location []string) string {
	if len(location) == 0 {
		return rootPath
	}
	var b strings.Builder
	for _, token := range location {
		b.WriteByte('/')
		_, _ = pointerEscapes.WriteString(&b, token)
	}
	return b.String()
}
