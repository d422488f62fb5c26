package main

import (
	"fmt"
	"os"
	"strconv"

	"ipython-mcp/envprov"
	"ipython-mcp/internal/cpython"
)

// bootstrap is the program that CPython runs: the Python half of package shell, from the directory in argv[1], serving
// requests on the descriptor in argv[2]. Both are gone from sys.argv once the namespace exists.
const bootstrap = "import sys; sys.path.append(sys.argv[1]); from ipymcp.boot import main; main(int(sys.argv[2]))"

// trial is what an interpreter runs to say whether it could serve: with the directory in argv[1], and the bundled
// IPython in argv[2].
const trial = "import sys; sys.path.append(sys.argv[1]); from ipymcp.choosing import main; main(sys.argv[2])"

// misleading are the variables with which a client's own Python set-up would send this interpreter, or the Python
// children of user code, to another Python's standard library.
var misleading = []string{"PYTHONHOME", "PYTHONPLATLIBDIR", "PYTHONEXECUTABLE"}

// interpreter is a Python that is ready to run.
type interpreter struct {
	library *cpython.Library
	args    []string // its command line
	site    string   // directory of the bundled IPython
}

// loadInterpreter loads the library of the interpreter that was chosen. python is the configured
// one, if any; pythonFD is its end of the channel.
func loadInterpreter(found prepared, python string, pythonFD int) (interpreter, error) {
	for _, name := range found.ignored {
		if err := os.Unsetenv(name); err != nil {
			return interpreter{}, fmt.Errorf("cannot unset %s: %v", name, err)
		}
	}
	library, err := cpython.Load(found.chosen.Library)
	if err != nil && python != "" {
		err = fmt.Errorf("%s=%s cannot serve: %w", envprov.VarPython, python, err)
	}
	if err != nil {
		return interpreter{}, err
	}
	// -P: the working directory is no place to import from before everything else; the namespace appends it.
	args := []string{found.chosen.Executable, "-P", "-c", bootstrap, found.code.Dir, strconv.Itoa(pythonFD)}
	return interpreter{library: library, args: args, site: found.site.Dir}, nil
}
