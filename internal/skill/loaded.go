// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"path"
	"slices"
	"strings"
)

// loadedNames are files that a program reads for its name alone, below the folder that it works in.
var loadedNames = setOf("package.json", "pyproject.toml", "setup.cfg", "makefile", "gnumakefile")

// loadedEndings are those of files that an interpreter or a linker loads, beside those of programs.
var loadedEndings = setOf("pth", "pyd", "pyw", "egg-link", "cts", "mts", "jsx", "tsx", "node", "pm", "phar", "zsh", "class")

// DataFolders are the folders of a workspace for the data of programs. Programs load nothing from them by themselves.
func DataFolders() []string { return []string{"inputs", "data"} }

// Steers returns why a file of a run's input can change what the skill's programs do; it returns "" if it cannot. The programs work in the
// workspace, which is also the home folder and a path where Python looks for modules. Below DataFolders that are not the skill's own,
// modules are allowed: a program does not look there unless it is configured to.
func (p Places) Steers(file string) string {
	for element := range strings.SplitSeq(strings.ToLower(file), "/") {
		switch {
		case strings.HasPrefix(element, "."):
			return "Programs read settings from files and folders whose name begins with a dot. Give it another name."
		case element == "__pycache__", element == "node_modules", strings.HasSuffix(element, ".pyc"), strings.HasSuffix(element, ".pyo"):
			return "Programs load what has such a name in place of their own modules. Give it another name."
		}
	}
	top, _, below := strings.Cut(file, "/")
	if below && slices.Contains(DataFolders(), top) && !p.folders[top] {
		return ""
	}
	name := strings.ToLower(path.Base(file))
	if programName(name) || loadedEndings[strings.TrimPrefix(path.Ext(name), ".")] || loadedNames[name] {
		return "Programs of the skill can load a file of this kind. Put it below " + strings.Join(DataFolders(), "/ or ") + "/."
	}
	return ""
}
