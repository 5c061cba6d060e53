// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// Python must find modules of packages behind its standard library, and before those of the image: a package must not bring a json or ssl
// of its own for everything that runs. No variable has that effect: the folders of PYTHONPATH come first. So PYTHONPATH names a folder with
// modules that Python imports when it starts, in virtual environments too, and that put the packages at the right position. A Python that
// ignores variables (-I, -E), or imports nothing by itself (-S), finds no packages.

const (
	// pythonSetupDir in the folder for temporary files has these modules.
	pythonSetupDir = workspace.OwnDir + "/python"
	pythonFileMode = 0o444
)

// pythonModules are the modules that Python imports when it starts. The second one is there so that no package has one of that name.
var pythonModules = []string{"sitecustomize", "usercustomize"}

// pythonModule is such a module. It first runs the module of its name that Python would have found without this folder. A package's module
// of that name is not run, because it would run in every program.
const pythonModule = `# Puts the packages of the run's skill behind the standard library.
import os, sys
def motor_setup():
    packages, here = [%s], os.path.dirname(__file__)
    own, at = sys.modules.pop(__name__), sys.path.index(here) if here in sys.path else 0
    sys.path[:] = [p for p in sys.path if p != here and p not in packages]
    try:
        __import__(__name__)
    except ImportError as e:
        if e.name != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, own)
        sys.path.insert(at, here)
        library = os.path.dirname(os.__file__)
        last = len(sys.path)
        for i, p in enumerate(sys.path):
            if p == library or p == os.path.join(library, "lib-dynload"):
                last = i + 1
        sys.path[last:last] = packages
motor_setup()
`

// pythonSetup keeps these modules.
type pythonSetup struct {
	temp *workspace.Workspace
	// packages are folders of modules, and workspace has those of the run itself.
	packages  []string
	workspace string

	mu sync.Mutex
	// written has the files as they were written.
	written []fs.FileInfo
}

// variables are those of a program that starts now. The files that they name are written anew if a program removed or changed them.
func (y *pythonSetup) variables() ([]string, error) {
	if len(y.packages) == 0 {
		return nil, nil
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if !y.intact() {
		if err := y.write(); err != nil {
			return nil, fmt.Errorf("write what Python finds packages by: %w", err)
		}
	}
	return []string{"PYTHONPATH=" + filepath.Join(y.temp.Dir, pythonSetupDir) + ":" + y.workspace}, nil
}

func (y *pythonSetup) intact() bool {
	for i, name := range pythonModules {
		if i >= len(y.written) || !y.temp.Stays(pythonFile(name), y.written[i]) {
			return false
		}
	}
	return true
}

func (y *pythonSetup) write() error {
	if err := y.temp.Root.RemoveAll(pythonSetupDir); err != nil {
		return err
	}
	quoted := make([]string, len(y.packages))
	for i, folder := range y.packages {
		quoted[i] = strconv.QuoteToASCII(folder)
	}
	y.written = nil
	for _, name := range pythonModules {
		if err := y.temp.Put(pythonFile(name), fmt.Sprintf(pythonModule, strings.Join(quoted, ", ")), pythonFileMode); err != nil {
			return err
		}
		info, err := y.temp.Root.Lstat(pythonFile(name))
		if err != nil {
			return err
		}
		y.written = append(y.written, info)
	}
	return nil
}

func pythonFile(module string) string { return pythonSetupDir + "/" + module + ".py" }
