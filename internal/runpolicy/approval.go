// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/commandline"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// ApprovalReason says why a person must approve the call, in one sentence that names the rule, "" if nobody need. The
// first rule that applies is named: tools, mcpTools, bash.commands and fetch.methods of spec.approval, which say most
// about the call, then required. What a rule cannot tell of a call counts as if it applied, such as arguments that do not
// parse, or a command whose name comes out of a variable. Calls that ask a person need no approval.
func ApprovalReason(run *v1alpha1.MotorRun, tool, arguments string) string {
	if toolapi.WaitsForPerson(tool) || toolapi.IsOneshot(tool) || tool == toolapi.ToolInstall {
		return ""
	}
	a := approvalRules(run)
	if slices.Contains(a.Tools, v1alpha1.ToolName(tool)) {
		return "spec.approval.tools: " + tool
	}
	if why := named(a, tool, arguments); why != "" {
		return why
	}
	switch a.Required {
	case v1alpha1.ApprovalAlways:
		if !readsOnly(tool) {
			return "spec.approval.required Always: " + shown(tool)
		}
	case v1alpha1.ApprovalIrreversible:
		if why := Irreversible(run, tool, arguments); why != "" {
			return "spec.approval.required Irreversible: " + why
		}
	case v1alpha1.ApprovalNever:
	}
	return ""
}

// MayNeedApproval reports whether the run has a rule by which a call can need a person's approval.
func MayNeedApproval(run *v1alpha1.MotorRun) bool {
	a := approvalRules(run)
	return a.Required == v1alpha1.ApprovalAlways || a.Required == v1alpha1.ApprovalIrreversible || len(a.Tools) > 0 || len(a.MCPTools) > 0 ||
		a.Bash != nil && len(a.Bash.Commands) > 0 || a.Fetch != nil && len(a.Fetch.Methods) > 0
}

// approvalRules are the run's rules. A run without any needs nobody's approval.
func approvalRules(run *v1alpha1.MotorRun) *v1alpha1.RunApproval {
	if run.Spec.Approval == nil {
		return &v1alpha1.RunApproval{}
	}
	return run.Spec.Approval
}

// named says which rule for single calls applies, "" if none does.
func named(a *v1alpha1.RunApproval, tool, arguments string) string {
	switch {
	case tool == toolapi.ToolBash && a.Bash != nil:
		return namedCommand(a.Bash.Commands, arguments)
	case tool == toolapi.ToolFetch && a.Fetch != nil:
		return namedMethod(a.Fetch.Methods, arguments)
	}
	server, name, ok := toolapi.ParseMCPToolName(tool)
	if !ok {
		return ""
	}
	for _, rule := range a.MCPTools {
		if rule == server+"/"+name || rule == server+"/*" {
			return fmt.Sprintf("spec.approval.mcpTools %q", rule)
		}
	}
	return ""
}

// namedCommand says which command of a bash call one of the patterns names, or else which one cannot be told.
func namedCommand(patterns []v1alpha1.CommandPattern, arguments string) string {
	const rule = "spec.approval.bash.commands"
	list, err := parseCommand(arguments)
	if err != nil {
		return fmt.Sprintf("%s: what the line runs cannot be told: %s", rule, shown(err.Error()))
	}
	for _, p := range patterns {
		if c := list.Named(string(p)); c != nil {
			return fmt.Sprintf("%s %q: %s", rule, p, shown(c.Text))
		}
	}
	if c := list.Untold(); c != nil {
		return rule + ": " + untold(c)
	}
	return ""
}

func parseCommand(arguments string) (commandline.List, error) {
	line, err := textArgument(arguments, argCommand)
	if err != nil {
		return commandline.List{}, err
	}
	return commandline.Parse(line)
}

// untold names a command of which it cannot be told what runs.
func untold(c *commandline.Command) string {
	why := c.Unknown
	if why == "" {
		why = "what a script runs is not looked into"
	}
	return fmt.Sprintf("%s: %s", shown(why), shown(c.Text))
}

// shown is a text of the model's in one line, with nothing in it that could deceive the eye.
func shown(s string) string { return Cut(visible(oneLine(s, maxHead)), maxHead) }

// namedMethod says so if the method of a fetch call is one of the rule.
func namedMethod(methods []string, arguments string) string {
	const rule = "spec.approval.fetch.methods"
	method, address, err := requestLine(arguments)
	if err != nil {
		return fmt.Sprintf("%s: the request cannot be told: %s", rule, shown(err.Error()))
	}
	if !slices.ContainsFunc(methods, func(m string) bool { return strings.EqualFold(m, method) }) {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", rule, shown(method), shown(address))
}

var (
	errOtherMethod = errors.New("its address may stand for another method")
	errBody        = errors.New("a request that only reads has no body")
)

// methodNames are the parameters by which frameworks take a request for one of another method: in small letters, with "-" for "_" and
// without what stands before them.
var methodNames = []string{"method-override", "http-method-override", "x-method-override", "x-http-method-override", "x-http-method"}

// namesOtherMethod reports whether the query of an address may have a server take the request for one of another method. A server
// unescapes the names of parameters before it looks at them, so each is unescaped here. One that cannot be is not told.
func namesOtherMethod(address string) bool {
	_, query, _ := strings.Cut(address, "?")
	for param := range strings.FieldsFuncSeq(query, func(r rune) bool { return strings.ContainsRune("?&;#", r) }) {
		name, _, _ := strings.Cut(param, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return true
		}
		name = strings.ToLower(strings.Map(func(r rune) rune {
			switch r {
			case '_', '.', ' ': // PHP makes "_" of the others.
				return '-'
			}
			return r
		}, strings.TrimSpace(name)))
		bare := strings.TrimLeft(name, "-")
		if name != bare && bare == "method" || slices.Contains(methodNames, bare) {
			return true
		}
	}
	return false
}

// requestLine is the method of a fetch call, in capitals, and its address. It is an error if the server may take the request for
// another one.
func requestLine(arguments string) (method, address string, err error) {
	if method, address, err = givenLine(arguments); err != nil {
		return "", "", err
	}
	if !isSafeMethod(method) {
		return method, address, nil
	}
	if namesOtherMethod(address) {
		return "", "", errOtherMethod
	}
	for _, name := range []string{argBody, argBodyFile} {
		if body, err := textArgument(arguments, name); err != nil || body != "" {
			return "", "", cmp.Or(err, errBody)
		}
	}
	return method, address, nil
}

func givenLine(arguments string) (method, address string, err error) {
	if method, err = textArgument(arguments, argMethod); err != nil {
		return "", "", err
	}
	if address, err = textArgument(arguments, argURL); err != nil {
		return "", "", err
	}
	if method == "" {
		method = "GET"
	}
	return strings.ToUpper(method), address, nil
}

func isSafeMethod(method string) bool {
	return method == "GET" || method == "HEAD" || method == "OPTIONS"
}

// readsOnly says whether a tool does no more than read in the workspace or ask a person.
func readsOnly(tool string) bool {
	switch tool {
	case toolapi.ToolRead, toolapi.ToolList, toolapi.ToolGlob, toolapi.ToolGrep:
		return true
	}
	return toolapi.WaitsForPerson(tool)
}

// Irreversible says why the call may do outside of the sandbox what cannot be undone, "" if it plainly does not: a fetch call
// with a method other than GET, HEAD and OPTIONS, every call of a tool of an MCP server, save_credential, and, if the run has
// a way out, every code call, and a bash call with a command that is not of a short list of harmless ones.
func Irreversible(run *v1alpha1.MotorRun, tool, arguments string) string {
	switch {
	case tool == toolapi.ToolFetch:
		method, address, err := requestLine(arguments)
		switch {
		case err != nil:
			return "the request cannot be told: " + shown(err.Error())
		case !isSafeMethod(method):
			return fmt.Sprintf("%s %s", shown(method), shown(address))
		}
	case tool == toolapi.ToolSaveCredential:
		return "a credential is stored"
	case toolapi.IsMCPTool(tool):
		return "a tool of an MCP server may do anything"
	case tool == toolapi.ToolCode && hasWayOut(run):
		return "a program may do anything that the way out allows"
	case tool == toolapi.ToolBash && hasWayOut(run):
		return irreversibleCommand(arguments)
	}
	return ""
}

const (
	// maxCommands is how many commands a reason names, maxCommand how many characters of each where there are several.
	maxCommands = 3
	maxCommand  = 60
)

// irreversibleCommand says which commands of a bash call may do something outside of the sandbox: the first few of them, and how many
// more there are. Of a long line a person sees the beginning and the end only, and must learn that more is in between.
func irreversibleCommand(arguments string) string {
	list, err := parseCommand(arguments)
	if err != nil {
		return "what the line runs cannot be told: " + shown(err.Error())
	}
	all := list.NotHarmless()
	if len(all) == 0 {
		return ""
	}
	if len(all) == 1 {
		return shown(all[0])
	}
	named := make([]string, 0, maxCommands)
	for _, c := range all[:min(len(all), maxCommands)] {
		named = append(named, Cut(shown(strings.TrimSuffix(c, ";")), maxCommand))
	}
	why := strings.Join(named, ", ")
	if more := len(all) - len(named); more > 0 {
		why += fmt.Sprintf(", and %d more", more)
	}
	return why
}
