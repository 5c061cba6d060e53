// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"regexp"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxShellFiles is how many files are named that have something for a shell, maxTools how many tools.
const maxShellFiles, maxTools = 4, 32

// toolNames are the operator's tools by the names that they have in skills of other systems, in lower case.
var toolNames = map[string]string{
	"bash": toolapi.ToolBash, "shell": toolapi.ToolBash, "code": toolapi.ToolCode, "python": toolapi.ToolCode, "javascript": toolapi.ToolCode,
	"read": toolapi.ToolRead, "write": toolapi.ToolWrite, "edit": toolapi.ToolEdit, "multiedit": toolapi.ToolEdit, "patch": toolapi.ToolPatch,
	"list": toolapi.ToolList, "ls": toolapi.ToolList, "glob": toolapi.ToolGlob, "grep": toolapi.ToolGrep,
	"fetch": toolapi.ToolFetch, "webfetch": toolapi.ToolFetch, "search_web": toolapi.ToolSearchWeb, "websearch": toolapi.ToolSearchWeb,
	"save_artifact": toolapi.ToolSaveArtifact, "save_credential": toolapi.ToolSaveCredential, "request_domain": toolapi.ToolRequestDomain,
}

// Tools are the operator's tools that the allowed-tools of a SKILL.md names, as in "Bash(git:*) Read", sorted. Other names are those of
// other systems.
func Tools(allowed string) (tools []string) {
	for word := range strings.FieldsFuncSeq(allowed, func(r rune) bool { return r == ' ' || r == ',' }) {
		name, _, _ := strings.Cut(strings.ToLower(word), "(")
		if tool := toolNames[name]; tool != "" && !slices.Contains(tools, tool) {
			tools = append(tools, tool)
		}
	}
	slices.Sort(tools)
	return tools
}

// installs finds the packages that a line installs: the program, and its arguments.
var installs = regexp.MustCompile(`\b(pip3?|npm|pnpm|apt|apt-get)\s+(?:install|add|i)\s+([^\n;&|)` + "`" + `"'#]+)`)

// packageName is a name without a version.
var packageName = regexp.MustCompile(`^(@[A-Za-z0-9._-]+/)?[A-Za-z0-9][A-Za-z0-9._+-]*`)

// installed finds the packages that the file installs.
func (g *gatherer) installed(f *File) {
	for _, m := range installs.FindAllSubmatch(f.Content, -1) {
		if g.packages.full() {
			return
		}
		kind := strings.TrimSuffix(string(m[1]), "3")
		switch kind {
		case "pnpm":
			kind = "npm"
		case "apt-get":
			kind = "apt"
		}
		for word := range strings.FieldsSeq(string(m[2])) {
			if strings.HasPrefix(word, "-") {
				continue
			}
			if name := packageName.FindString(word); name != "" {
				g.packages.add(kind+":"+text.CutBytes(name, maxFact), f.Path)
			}
		}
	}
}

// shell notes whether a file has something for a shell.
func (g *gatherer) shell(f *File) {
	if len(g.shells) == maxShellFiles {
		return
	}
	uses := false
	shellParts(f, func([]byte) { uses = true })
	if uses {
		g.shells = append(g.shells, text.CutBytes(f.Path, MaxPath))
	}
}

// reviewTools finds the tools that files name, or use, and that are not granted.
func reviewTools(st *v1alpha1.SkillRevisionStatus, granted []v1alpha1.ToolName) (missing []string) {
	for _, tool := range st.Tools {
		if !slices.Contains(granted, v1alpha1.ToolName(tool)) && len(missing) < maxMissing {
			missing = append(missing, tool)
		}
	}
	return missing
}

// reviewPackages finds the packages that files install and that a policy does not have.
func reviewPackages(mentioned []v1alpha1.Mention, d *v1alpha1.SkillDependencies) (missing []string) {
	if d == nil {
		d = &v1alpha1.SkillDependencies{}
	}
	has := map[string]bool{}
	for kind, list := range map[string][]string{"npm": d.NPM, "pip": d.Pip, "apt": d.Apt} {
		for _, p := range list {
			has[kind+":"+strings.ToLower(packageName.FindString(p))] = true
		}
	}
	for _, m := range mentioned {
		if !has[strings.ToLower(m.Name)] && len(missing) < maxMissing {
			missing = append(missing, m.Name)
		}
	}
	return missing
}
