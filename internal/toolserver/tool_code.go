// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	codeUsage   = `"language" (javascript or python) and "source", and optionally "timeoutSeconds"`
	codeTimeout = 30 * time.Second

	// nodePrelude gives ES modules a require too. Programs that use require and await at the top level are common, and
	// Node.js takes them for ES modules, which have none. It is looked up from the workspace.
	nodePrelude = `--import=data:text/javascript,import{createRequire}from"node:module";globalThis.require=createRequire(process.cwd()+"/");`
)

// code runs a program.
//
// JavaScript comes to Node.js (20.19 or newer) on standard input: it then is CommonJS, or an ES module if it uses
// import, export or await at the top level, and both import and require look from the workspace. Python runs from a
// file, because its error messages quote lines of files only; PYTHONPATH makes imports look in the workspace.
func (p *processes) code(ctx context.Context, j job) toolapi.Result {
	var args toolapi.CodeArgs
	if bad := decodeArgs(j.args, &args, codeUsage); bad != nil {
		return *bad
	}
	timeout, bad := timeoutOf(args.TimeoutSeconds, codeTimeout)
	if bad != nil {
		return *bad
	}
	if strings.TrimSpace(args.Source) == "" {
		return failure(toolapi.CodeInvalidArguments, "The source is empty. Give the whole program.")
	}
	var suffix string
	prog := program{timeout: timeout}
	switch args.Language {
	case toolapi.LanguageJavaScript:
		prog.name, suffix = "node", ".js"
	case toolapi.LanguagePython:
		prog.name, suffix = "python3", ".py"
	default:
		return failure(toolapi.CodeInvalidArguments, "The language %q is not known. It is javascript or python; for others use bash.", bound(args.Language, 64))
	}
	local := codeDir + "/" + j.id + suffix
	file, err := p.workspace.create(local)
	if err != nil {
		return p.workspace.fileFailure("write the program to", local, err)
	}
	defer func() {
		_ = file.Close()
		_ = p.workspace.root.Remove(local) // It may be gone: the program runs in the same folder.
	}()
	if _, err = io.WriteString(file, args.Source); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return p.workspace.fileFailure("write the program to", local, err)
	}
	if args.Language == toolapi.LanguageJavaScript {
		prog.args, prog.stdin = []string{nodePrelude, "-"}, file
	} else {
		prog.args = []string{filepath.Join(p.workspace.dir, local)}
	}
	return p.run(ctx, j, prog)
}
