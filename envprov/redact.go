package envprov

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mask stands where a secret was.
const mask = "***"

// shortValue is the length in characters below which a value is replaced only where it stands alone, so that a value
// such as "on" does not shred every word that contains it.
const shortValue = 4

// Redactor replaces secrets in text: the values it was made with, and what URLs and credentials look like. Nil and the
// zero value know no values. It is constant once made.
type Redactor struct {
	values []string // the longest first, so that none is cut to pieces by another that is a part of it
}

// NewRedactor makes the redactor of a start: secret are the values of the configured variables, environ is the
// environment of uv, whose index credentials count as well.
func NewRedactor(secret map[string]string, environ []string) *Redactor {
	r := &Redactor{}
	for _, value := range secret {
		r.add(value)
	}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if credentialVariable.MatchString(name) {
			r.add(value)
		}
		if strings.HasPrefix(name, "UV_") {
			for _, found := range userInfo.FindAllStringSubmatch(value, -1) {
				r.addUserInfo(found[2])
			}
		}
	}
	r.sort()
	return r
}

// WithURLs is a redactor that also knows the user-info of the URLs in texts, wherever it appears by itself.
func (r *Redactor) WithURLs(texts ...string) *Redactor {
	more := &Redactor{}
	if r != nil {
		more.values = slices.Clone(r.values)
	}
	for _, text := range texts {
		for _, found := range userInfo.FindAllStringSubmatch(text, -1) {
			more.addUserInfo(found[2])
		}
	}
	more.sort()
	return more
}

// addUserInfo adds a password, or a user name without one, which is a token then.
func (r *Redactor) addUserInfo(info string) {
	user, password, both := strings.Cut(info, ":")
	secret := user
	if both {
		secret = password
	}
	if strings.Contains(secret, mask) {
		return
	}
	r.add(secret)
	if plain, err := url.PathUnescape(secret); err == nil {
		r.add(plain)
	}
}

// add takes a value, and its lines where it has several: a message shows them one by one.
func (r *Redactor) add(value string) {
	r.values = append(r.values, value)
	if strings.Contains(value, "\n") {
		for line := range strings.SplitSeq(value, "\n") {
			if len(line) >= shortValue {
				r.values = append(r.values, line)
			}
		}
	}
	if escaped := url.QueryEscape(value); escaped != value {
		r.values = append(r.values, escaped, url.PathEscape(value))
	}
}

func (r *Redactor) sort() {
	slices.SortFunc(r.values, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	r.values = slices.DeleteFunc(slices.Compact(r.values), func(v string) bool { return strings.TrimSpace(v) == "" })
}

var (
	// credentialVariable are variables of uv and of this program's environment that hold a credential by their name.
	credentialVariable = regexp.MustCompile(`(?i)^(UV|PIP|TWINE|NETRC)_.*(PASSWORD|TOKEN|USERNAME|SECRET)`)
	// userInfo is what stands before the @ of a URL: scheme, user-info.
	userInfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^\s/?#"'<>]*)@`)
	// secretParameter is a parameter of a URL, a header or a setting that is a credential by its name.
	secretParameter = regexp.MustCompile(`(?i)\b((?:[a-z0-9_-]*` +
		`(?:token|password|passwd|secret|signature|api[_-]?key|access[_-]?key)|sig|auth)` +
		`["']?\s*[=:]\s*["']?)([^\s"'&;,]+)`)
	authorization = regexp.MustCompile(`(?i)\b((?:basic|bearer)\s+)([A-Za-z0-9+/=._~-]{6,})`)
	// wellKnownToken are credentials that their issuers mark: package indexes, GitHub, GitLab, AWS.
	wellKnownToken = regexp.MustCompile(`\b(?:pypi-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|` +
		`github_pat_[A-Za-z0-9_]{20,}|` +
		`glpat-[A-Za-z0-9_-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16})`)
)

// Redact replaces what must not be seen.
func (r *Redactor) Redact(text string) string {
	text = redactURLs(text)
	if r != nil {
		for _, value := range r.values {
			if strings.Contains(mask, value) {
				continue // it would be found again in what replaced others
			}
			if utf8.RuneCountInString(value) < shortValue {
				text = replaceAlone(text, value)
			} else {
				text = strings.ReplaceAll(text, value, mask)
			}
		}
	}
	return text
}

// redactURLs replaces what is a credential by its form, whatever was configured.
func redactURLs(text string) string {
	text = userInfo.ReplaceAllString(text, "${1}"+mask+"@")
	text = authorization.ReplaceAllString(text, "${1}"+mask)
	text = secretParameter.ReplaceAllString(text, "${1}"+mask)
	return wellKnownToken.ReplaceAllString(text, mask)
}

// replaceAlone replaces value where no letter, digit or underscore touches it; a single character only where it is
// quoted or assigned.
func replaceAlone(text, value string) string {
	single := utf8.RuneCountInString(value) == 1
	var b strings.Builder
	for start := 0; ; {
		at := strings.Index(text[start:], value)
		if at < 0 {
			b.WriteString(text[start:])
			return b.String()
		}
		at += start
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(value):])
		b.WriteString(text[start:at])
		if alone(before, after) && (!single || assigned(before, after)) {
			b.WriteString(mask)
		} else {
			b.WriteString(value)
		}
		start = at + len(value)
	}
}

func alone(before, after rune) bool {
	word := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	return !word(before) && !word(after)
}

// assigned tells 'x' and NAME=x from an x in a sentence.
func assigned(before, after rune) bool {
	quote := func(r rune) bool { return r == '"' || r == '\'' || r == '`' }
	return before == '=' || quote(before) && quote(after)
}
