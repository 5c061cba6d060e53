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

// Check looks at the skills of a workspace as they are collected at the end, and keeps none.
type Check struct {
	Env    *runenv.Env
	Client *toolclient.Client
}

// Problems says which skills would not be kept if the attempt ended now, and why. Of a sandbox of an earlier release it says nothing: to list
// its skills would end what runs there.
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

// Tools tells the model at once what is wrong with a SKILL.md that it writes. What it makes in another way is looked at when it
// calls finish.
type Tools struct{ motorloop.Tools }

// maxManifestNote is the most that is said of a SKILL.md, in bytes.
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

// manifestProblem says why what a write call has written is no SKILL.md, "" if it is one, or if it is none that is collected.
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
