// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/test/eval/internal/confine"
	"motorcortex.dev/motorcortex/test/eval/internal/task"
	"motorcortex.dev/motorcortex/test/eval/internal/tree"
)

const defaultSeconds = 60

// command runs a command of the check in a copy of the workspace. A model's program that hangs or fails is a problem of the outcome; a
// program of the host that is missing is an error, because it says nothing of the outcome.
func command(ctx context.Context, t *task.Task, o Outcome, files tree.Tree, c task.Run) ([]string, error) {
	dir, err := os.MkdirTemp("", "eval-check-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	argv, err := stage(dir, t, o, files, c)
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		return nil, fmt.Errorf("%s: the check needs %s: %w", t.Name, argv[0], err)
	}
	seconds := c.Seconds
	if seconds == 0 {
		seconds = defaultSeconds
	}
	out, err := confine.Run(ctx, filepath.Join(dir, "workspace"), time.Duration(seconds)*time.Second, argv...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit), errors.Is(err, confine.ErrTimeout):
		return []string{fmt.Sprintf("%s: %v\n%s", strings.Join(c.Command, " "), err, end(out))}, nil
	}
	return nil, err
}

// stage lays out what a command needs, and returns it with its places filled in.
func stage(dir string, t *task.Task, o Outcome, files tree.Tree, c task.Run) ([]string, error) {
	check, err := tree.Read(filepath.Join(t.Dir, "check"))
	if err != nil {
		return nil, err
	}
	overlay := tree.Tree{}
	for path, content := range check {
		if rest, ok := strings.CutPrefix(path, "overlay/"); ok {
			overlay[rest] = content
		}
	}
	places := map[string]string{}
	for name, content := range map[string]tree.Tree{"workspace": files.With(overlay), "check": check.Without("overlay/"), "given": t.Given()} {
		places[name] = filepath.Join(dir, name)
		if err := content.Write(places[name]); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	places["outcome"] = filepath.Join(dir, outcomeFile)
	if err := os.WriteFile(places["outcome"], text, 0o644); err != nil {
		return nil, err
	}
	var argv []string
	for _, arg := range c.Command {
		for name, place := range places {
			arg = strings.ReplaceAll(arg, "{"+name+"}", place)
		}
		argv = append(argv, arg)
	}
	return argv, nil
}

// end returns the last lines of an output, where a test says what failed.
func end(out string) string {
	const most = 2000
	out = strings.TrimSpace(out)
	if len(out) > most {
		out = "…" + strings.ToValidUTF8(out[len(out)-most:], "")
	}
	return out
}
