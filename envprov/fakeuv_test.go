package envprov

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeUV is a shell script in uv's place. It notes how it was called in $LOG, and then makes what uv would: an
// environment with a package of many files. Variables make it fail: FAIL names a subcommand, SLOW too.
const fakeUV = `#!/bin/sh
echo "$*" >> "$LOG"
for last; do :; done
case "$1" in
venv)
  echo "Creating virtual environment" >&2
  while [ $# -gt 0 ]; do
    case "$1" in --python) python=$2; shift;; */environment) target=$1;; esac
    shift
  done
  mkdir -p "$target/bin" "$target/lib/python3.14/site-packages" || exit 3
  ln -s "$python" "$target/bin/python" || exit 3
  printf 'home = %s\nversion = 1\n' "$(dirname "$python")" > "$target/pyvenv.cfg"
  what=venv;;
pip)
  target=$(dirname "$(dirname "$4")")
  cat > "$LOG.stdin"
  for i in 1 2 3 4 5 6 7 8; do
    echo "Installing $i" >&2
    mkdir "$target/lib/$i" && echo $i > "$target/lib/$i/file" || exit 3
  done
  echo whole > "$target/lib/last"
  what=pip;;
--version) echo "uv 9.9.9"; exit 0;;
esac
if [ "$SLOW" = $what ]; then
  sleep 60 &
  echo $$ > "$LOG.uv"
  echo $! > "$LOG.child"
  echo "waiting with $TOKEN" >&2
  wait
fi
if [ "$FAIL" = $what ]; then
  echo "error: it went wrong with $TOKEN at https://me:pass@host/simple" >&2
  exit 2
fi
exit 0
`

// fakePython notes in $LOG.trials that it was tried. It cannot serve where $UNFIT is set, or a package "unfit" is there.
const fakePython = `#!/bin/sh
echo trial >> "$LOG.trials"
[ -z "$UNFIT" ] && [ ! -e "$(dirname "$(dirname "$0")")/lib/python3.14/site-packages/unfit" ] && exit 0
echo "IPython 7.34 is too old, with $TOKEN" >&2
exit 1
`

// fakeRequest is a request that the fake uv can serve, in a workspace that does not exist yet. It returns the file
// where the fake uv notes its calls.
func fakeRequest(t *testing.T, environ ...string) (r Request, log string) {
	t.Helper()
	root := realDir(t)
	bin := filepath.Join(root, "bin")
	write := func(path, text string, mode os.FileMode) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(bin, "uv"), fakeUV, 0o755)
	python := filepath.Join(root, "python", "bin", "python3.14")
	write(python, fakePython, 0o755)
	log = filepath.Join(root, "log")
	return Request{
		Settings: Settings{
			Workspace: filepath.Join(root, "deep", "workspace"), ActiveEnvironment: "env", SetupTimeout: time.Minute,
		},
		Base: Interpreter{
			Executable: python, Library: "/lib/libpython", Version: "3.14.6",
			CacheTag: "cpython-314",
		},
		Requirements: []string{"idna<3", "six"},
		Environ: append([]string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + root, "LOG=" + log},
			environ...),
		Redactor: NewRedactor(nil, nil),
	}, log
}

func provisionOK(t *testing.T, r Request) Made {
	t.Helper()
	found, made, failure := Provision(context.Background(), r)
	if failure != nil {
		t.Fatal(failure)
	}
	want := r.Base
	want.Executable = filepath.Join(r.Settings.EnvironmentDir(), "bin", "python")
	if found != want {
		t.Errorf("interpreter is %+v, want %+v", found, want)
	}
	checkWhole(t, r)
	return made
}

// checkWhole makes sure that the environment is complete.
func checkWhole(t *testing.T, r Request) {
	t.Helper()
	for _, name := range []string{"bin/python", "pyvenv.cfg", metadataName, "lib/1/file", "lib/8/file", "lib/last"} {
		if _, err := os.Stat(filepath.Join(r.Settings.EnvironmentDir(), name)); err != nil {
			t.Errorf("the environment is half made: %v", err)
		}
	}
}

// entries lists a directory; nil where it does not exist.
func entries(t *testing.T, directory string) []string {
	t.Helper()
	list, err := os.ReadDir(directory)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}

func calls(t *testing.T, log string) []string {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(text)), " ", "_"))
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	number, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// end kills a process that a test left behind on purpose.
func end(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}
