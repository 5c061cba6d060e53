// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxSkillsBytes fits the longest list, with every quote in its names escaped.
const maxSkillsBytes = 4 << 20

// Skills ends everything that runs in the sandbox and lists the folders that may be skills. Until the next Call or MCP, nothing starts
// in the sandbox. own are the paths of toolapi.ListSkills. The list is the sandbox's claim and must not be trusted.
func (c *Client) Skills(ctx context.Context, own []string) (toolapi.Skills, error) {
	return c.listSkills(ctx, toolapi.ListSkills{Own: own})
}

// LookAtSkills is Skills without ending anything in the sandbox. ErrUnsupported means that the tool server cannot list without ending programs.
func (c *Client) LookAtSkills(ctx context.Context, own []string) (toolapi.Skills, error) {
	return c.listSkills(ctx, toolapi.ListSkills{Own: own, Look: true})
}

func (c *Client) listSkills(ctx context.Context, asked toolapi.ListSkills) (toolapi.Skills, error) {
	var list toolapi.Skills
	ask := exchange{method: http.MethodPost, path: toolapi.PathSkills, timeout: fileTimeout, into: &list, most: maxSkillsBytes}
	if len(asked.Own) > 0 || asked.Look {
		ask.payload = asked
	}
	err := c.request(ctx, ask)
	if err == nil && len(list.Folders) > toolapi.MaxSkillFolders {
		err = fmt.Errorf("%w: %d folders of skills", ErrBadAnswer, len(list.Folders))
	}
	for _, f := range list.Folders {
		if err == nil && len(f.Files) > toolapi.MaxSkillFiles {
			err = fmt.Errorf("%w: a skill with %d files", ErrBadAnswer, len(f.Files))
		}
	}
	if err != nil {
		return toolapi.Skills{}, err
	}
	return list, nil
}

// ReadSkillFile is ReadArtifact for a file of a listed folder, by its path in the workspace.
func (c *Client) ReadSkillFile(ctx context.Context, path string, w io.Writer, most int64) (int64, error) {
	return c.readParts(ctx, toolapi.PathSkills, path, w, most)
}
