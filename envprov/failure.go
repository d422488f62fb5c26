package envprov

import "fmt"

// Phases of a start, as the client contract names them.
const (
	PhaseConfiguration     = "configuration"
	PhasePathValidation    = "path_validation"
	PhaseProvisioning      = "provisioning"
	PhaseDependencyInstall = "dependency_install"
	PhaseReuseValidation   = "reuse_validation"
)

// Failure is why there is no environment.
type Failure struct {
	Phase   string
	Message string // holds no secret; may have several lines where uv's do
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.Phase, f.Message) }
