package tests

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEnvironment_Pictures needs the package index, and uv's own cache between runs. One environment serves all of it.
func TestEnvironment_Pictures(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	env := append(w.env("env", "matplotlib", "pandas", "pillow"), "UV_NO_INDEX=", "UV_FIND_LINKS=", "UV_HTTP_RETRIES=",
		"MPLCONFIGDIR="+filepath.Join(w.root, "matplotlib"))
	if cache, err := os.UserCacheDir(); err == nil {
		env = append(env, "UV_CACHE_DIR="+filepath.Join(cache, "uv"))
	}
	s := connect(t, options{env: env})
	s.value("import io, subprocess, sys, numpy as np, pandas as pd\nfrom PIL import Image")
	t.Run("matplotlib", func(*testing.T) { matplotlibShows(s) })
	t.Run("large", func(*testing.T) { largePicturesFit(s) })
	t.Run("children", func(*testing.T) { childrenPlot(s) })
	t.Run("tables", func(t *testing.T) { tablesAreReadable(t, s) })
	own := connect(t, options{env: append(env, "MPLBACKEND=svg")})
	own.equals("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.get_backend()", `"svg"`)
	own.shows("plt.gcf()", 1, "<Figure size 640x480 with 1 Axes>")
}

func matplotlibShows(s *server) {
	s.t.Helper()
	first := s.shows("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", 1, "<image 1 of this answer: ")
	if strings.Contains(first.text, "scaled") {
		s.t.Errorf("an ordinary figure is scaled: %s", first.text)
	}
	s.shows("plt.plot([1, 2])", 1)
	s.shows("plt.plot([1, 2]);", 1)
	s.shows("fig, ax = plt.subplots()\nax.plot([1, 2])\nfig", 1, "<Figure size 640x480 with 1 Axes>")
	s.shows("fig", 1)
	s.shows("from matplotlib.figure import Figure\nalone = Figure()\nalone.subplots().plot([1])\nalone", 1)
	s.shows("plt.plot([1]); plt.savefig(io.BytesIO()); plt.close()", 0)
	s.shows("plt.plot([1, 2])\nprint('before')\n1/0", 1, "before", "ZeroDivisionError")
	s.shows("for i in range(30): plt.figure(); plt.plot([i])", 20, "more was displayed")
	s.shows("1", 0)
	s.shows("plt.plot([1])\nplt.pause(0.01)", 1)
	s.value("def plot(): plt.plot([1])")
	if found := s.lookAt(s.call("call_function", map[string]any{"name": "plot", "arguments": map[string]any{}})); len(found.images) != 1 {
		s.t.Errorf("a called function shows %d images", len(found.images))
	}
	s.shows("%matplotlib agg\nplt.plot([1])\nplt.show(); plt.close()", 0)
	s.shows("%matplotlib inline\nplt.plot([1])", 1)
}

func largePicturesFit(s *server) {
	s.t.Helper()
	s.shows("plt.figure(figsize=(60, 60)); plt.plot([1, 2])\nplt.gcf().canvas.get_width_height()", 1, "scaled down from ")
	const noise = "Image.fromarray(np.random.default_rng(0).integers(0, 255, (%s, 3), 'uint8'))"
	s.shows(strings.Replace(noise, "%s", "1200, 1200", 1), 1, "scaled down from 1200x1200")
	s.shows(strings.Replace(noise, "%s", "6000, 6000", 1), 1, "1568x1568", "scaled down from 6000x6000")
}

func childrenPlot(s *server) {
	s.t.Helper()
	const code = "import matplotlib.pyplot as plt; plt.plot([1]); plt.show(); print(plt.get_backend())"
	s.equals("subprocess.run([sys.executable, '-c', "+quoted(code)+"], capture_output=True, text=True, check=True).stdout", `"agg\n"`)
	s.equals("import multiprocessing\ndef draw(n): plt.plot([n]); plt.show(); return n\n"+
		"with multiprocessing.get_context('fork').Pool(1) as pool: drawn = pool.map(draw, [1, 2])\ndrawn", "[1,2]")
	s.equals("import os\n'MPLBACKEND' in os.environ", "false")
}

func tablesAreReadable(t *testing.T, s *server) {
	t.Helper()
	text := s.look("pd.DataFrame(np.arange(200).reshape(10, 20), columns=[f'column_{i}' for i in range(20)])").text
	if lines := strings.Split(text, "\n"); len(lines) != 13 || lines[12] != "[10 rows x 20 columns]" {
		t.Errorf("%d lines: %s", len(lines), text)
	}
	wide := s.look("pd.DataFrame([['x' * 40] * 20] * 50)").text
	if !strings.HasSuffix(wide, "…\n\n[50 rows x 20 columns]") && !strings.HasSuffix(wide, "…\n[50 rows x 20 columns]") {
		t.Errorf("%d characters end in %s", len(wide), wide[len(wide)-100:])
	}
	for _, display := range s.succeed("display(pd.DataFrame([[1, 2]]))").DisplayData {
		if keys := slices.Collect(maps.Keys(display.Data)); !slices.Equal(keys, []string{"text/plain"}) {
			t.Errorf("a displayed frame comes as %v", keys)
		}
	}
	s.equals("with pd.option_context('display.max_columns', 2): narrow = str(pd.DataFrame([[1] * 9]))\n'...' in narrow", "true")
	mentions(t, s.look("np.arange(6).reshape(2, 3)").text, "array([[0, 1, 2],\n       [3, 4, 5]])")
	s.equals("np.float64(0.5)", "0.5")
}
