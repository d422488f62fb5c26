package dyntools

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

const (
	// maxNumberChars is the longest number: Python reads no integer of more digits by default.
	maxNumberChars = 4300
	// maxExponent bounds a written exponent; what a float cannot hold is refused beyond it, and tiny values before it.
	maxExponent = 400
)

// checkNumbers finds numbers that Python could not read as what they say. It appends to problems.
func checkNumbers(value any, path []string, problems []Problem) []Problem {
	switch value := value.(type) {
	case json.Number:
		if why := numberProblem(string(value)); why != "" {
			problems = append(problems, Problem{Path: pointer(path), Message: why})
		}
	case []any:
		for i, item := range value {
			problems = checkNumbers(item, append(path, strconv.Itoa(i)), problems)
		}
	case map[string]any:
		for key, item := range value {
			problems = checkNumbers(item, append(path, key), problems)
		}
	}
	return problems
}

func numberProblem(number string) string {
	if len(number) > maxNumberChars {
		return fmt.Sprintf("number of %d characters, at most %d are accepted", len(number), maxNumberChars)
	}
	if !strings.ContainsAny(number, ".eE") {
		return "" // an integer in full is exact, however large
	}
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(number[i+1:]); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return "number " + shortened(number) + " is out of range: write an exponent that a float can hold"
		}
	}
	if _, err := strconv.ParseFloat(number, 64); err != nil {
		return "number " + shortened(number) + " is too large for a float: write an integer in full"
	}
	return ""
}
