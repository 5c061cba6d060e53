// SPDX-License-Identifier: Apache-2.0

package oneshot

import "strings"

// pythonModules are refused with everything in them.
var pythonModules = map[string]string{
	"subprocess": whyProcess, "multiprocessing": whyProcess, "signal": whyProcess, "pty": whyProcess, "concurrent.futures.process": whyProcess,
	"shutil": whyFiles, "pathlib": whyFiles, "tempfile": whyFiles, "glob": whyFiles, "fileinput": whyFiles, "mmap": whyFiles, "sqlite3": whyFiles,
	"dbm": whyFiles, "shelve": whyFiles,
	"socket": whyNetwork, "_socket": whyNetwork, "socketserver": whyNetwork, "ssl": whyNetwork, "select": whyNetwork, "selectors": whyNetwork, "http": whyNetwork,
	"urllib.request": whyNetwork, "urllib3": whyNetwork, "requests": whyNetwork, "httpx": whyNetwork, "aiohttp": whyNetwork, "ftplib": whyNetwork,
	"smtplib": whyNetwork, "imaplib": whyNetwork, "poplib": whyNetwork, "xmlrpc": whyNetwork, "webbrowser": whyNetwork,
	"code": whyEval, "codeop": whyEval, "runpy": whyEval, "importlib": whyEval, "imp": whyEval,
	"os": whySystem, "posix": whySystem, "_posixsubprocess": whySystem, "ctypes": whySystem, "_ctypes": whySystem, "cffi": whySystem, "builtins": whySystem,
	"fcntl": whySystem, "resource": whySystem, "pwd": whySystem, "gc": whySystem,
}

func judgePython(tokens []token, i int) finding {
	switch name := tokens[i].text; name {
	case "import":
		if startsStatement(tokens, i) {
			return pythonImport(tokens, i+1)
		}
	case "from":
		if startsStatement(tokens, i) {
			return pythonFrom(tokens, i+1)
		}
	case "open":
		if isPythonCall(tokens, i) {
			return finding{"open(…)", whyFiles}
		}
	case "eval", "exec":
		if isPythonCall(tokens, i) {
			return finding{name + "(…)", whyEval}
		}
	case "__import__", "__subclasses__", "__globals__", "__builtins__", "__loader__":
		return finding{name, whySystem}
	}
	return finding{}
}

// isPythonCall says whether the function of that name is called, and not a method, nor defined.
func isPythonCall(tokens []token, i int) bool {
	return is(tokens, i+1, "(") && !is(tokens, i-1, ".") && !is(tokens, i-1, "def")
}

func startsStatement(tokens []token, i int) bool {
	return i == 0 || at(tokens, i-1).kind == lineEnd || is(tokens, i-1, ";") || is(tokens, i-1, ":")
}

// pythonImport judges "import a.b as c, d", from token i on.
func pythonImport(tokens []token, i int) finding {
	for {
		name, next := dotted(tokens, i)
		if why := pythonModule(name); why != "" {
			return finding{"import " + name, why}
		}
		if is(tokens, next, "as") {
			next += 2
		}
		if !is(tokens, next, ",") || name == "" {
			return finding{}
		}
		i = next + 1
	}
}

// pythonFrom judges "from a import b, c", from token i on. What is imported may be a module too.
func pythonFrom(tokens []token, i int) finding {
	module, next := dotted(tokens, i)
	if why := pythonModule(module); why != "" {
		return finding{"from " + module, why}
	}
	if !is(tokens, next, "import") || module == "" {
		return finding{}
	}
	for i = next + 1; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.kind == word:
			if why := pythonModules[module+"."+t.text]; why != "" {
				return finding{"from " + module + " import " + t.text, why}
			}
		case t.kind == lineEnd || t.text == ";" || t.text == ":":
			return finding{}
		}
	}
	return finding{}
}

// dotted reads a name such as a.b.c, and says at which token it goes on.
func dotted(tokens []token, i int) (name string, next int) {
	var parts []string
	for at(tokens, i).kind == word {
		parts = append(parts, tokens[i].text)
		if i++; !is(tokens, i, ".") {
			break
		}
		i++
	}
	return strings.Join(parts, "."), i
}

// pythonModule says why a module is refused: for itself, or for one that it is in.
func pythonModule(name string) string {
	for i := range len(name) + 1 {
		if i == len(name) || name[i] == '.' {
			if why := pythonModules[name[:i]]; why != "" {
				return why
			}
		}
	}
	return ""
}
