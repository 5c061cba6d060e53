// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/skill"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// checkTimeout bounds one look at the skills before the end of an attempt. The model waits for it.
const checkTimeout = 20 * time.Second

// Check checks the skills of a workspace by the rules of the collection at the end, and stores none.
type Check struct {
	Env    *runenv.Env
	Client *toolclient.Client
}

// Problems returns which skills would be rejected if the attempt ended now, and why. It returns none for a sandbox of an earlier release:
// to list its skills would end its running programs.
func (k Check) Problems(ctx context.Context, succeeded bool) ([]string, error) {
	c := NewCollector(k.Env, k.Client)
	if c.looks = true; !c.Wanted(succeeded) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	found := newFound(c, checkTimeout)
	switch err := c.gather(ctx, found); {
	case errors.Is(err, toolclient.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look at the skills: %w", k.Env.Known.HideError(err))
	}
	var problems []string
	for _, r := range found.Rejected {
		where := fmt.Sprintf("%q", r.Path)
		if r.Path == workspaceFolder {
			where = "the workspace"
		}
		problems = append(problems, where+": "+r.Message)
	}
	return problems, nil
}

// Tools adds the problems of a SKILL.md that the model writes to the result at once. Skills that the model makes in another way are checked
// when it calls finish.
type Tools struct{ motorloop.Tools }

// maxManifestNote is the maximum size of the note about a SKILL.md, in bytes.
const maxManifestNote = 1 << 10

// Call runs one tool call.
func (t Tools) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	r, err := t.Tools.Call(ctx, c)
	if err != nil || !r.OK || c.Tool != toolapi.ToolWrite {
		return r, err
	}
	if why := manifestProblem(c.Arguments); why != "" {
		r.Note("[" + text.CutBytes(text.Printable(why), maxManifestNote) + "]")
	}
	return r, nil
}

// manifestProblem returns why a written SKILL.md is invalid, "" if it is valid, or if the file is not one that is collected.
func manifestProblem(arguments json.RawMessage) string {
	var args toolapi.WriteArgs
	if json.Unmarshal(arguments, &args) != nil || args.Append {
		return ""
	}
	file := path.Clean(args.Path)
	if path.Base(file) != skill.ManifestName || !isSkillFolder(path.Dir(file)) {
		return ""
	}
	if _, err := skill.ParseManifest([]byte(args.Content)); err != nil {
		return fmt.Sprintf("as it is, the skill will not be kept: %s: %v", skill.ManifestName, err)
	}
	return ""
}
