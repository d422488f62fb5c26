package envprov

// State is what Provision would find and do.
type State struct {
	Directory string
	Exists    bool
	Reasons   []string // why the environment that exists cannot be used; nil where it can
	UV        string   // the uv program; empty where there is none
	UVProblem string   // what to install then
}

// Works says whether Provision could begin: the environment can be used, or uv can make it.
func (s State) Works() bool {
	if s.Exists {
		return len(s.Reasons) == 0
	}
	return s.UV != ""
}

// Look says what Provision would find. It changes nothing and runs nothing.
func Look(r Request) State {
	r.Redactor = r.Redactor.WithURLs(r.Requirements...)
	s := State{Directory: r.Settings.EnvironmentDir(), Exists: r.exists()}
	if s.Exists {
		for _, reason := range r.unusable() {
			s.Reasons = append(s.Reasons, r.Redactor.Redact(reason))
		}
	}
	path, err := FindUV(r.Environ)
	if err != nil {
		s.UVProblem = err.Error()
	}
	s.UV = path
	return s
}
