// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/commandline"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// ApprovalRule is a rule by which a person must approve a call.
type ApprovalRule struct {
	// Name is the same for all calls of a tool that the rule covers. It is "" where the subject of the rule cannot be determined from the call: such a
	// call can only be approved by itself.
	Name string
	// Reason names the rule, and the part of the call that it covers, in one sentence.
	Reason string
}

// ApprovalRules returns the rules by which a person must approve the call. Those of tools, mcpTools, bash.commands and fetch.methods of
// spec.approval come first, because they are the most specific, then required. A rule that cannot be decided for a call applies: for instance if
// the arguments do not parse, or the name of a command comes out of a variable. Calls that ask a person need no approval.
func ApprovalRules(run *v1alpha1.MotorRun, tool, arguments string) []ApprovalRule {
	if toolapi.WaitsForPerson(tool) || toolapi.IsOneshot(tool) || tool == toolapi.ToolInstall {
		return nil
	}
	a := approvalRules(run)
	var rules []ApprovalRule
	if slices.Contains(a.Tools, v1alpha1.ToolName(tool)) {
		const name = "spec.approval.tools: "
		rules = append(rules, ApprovalRule{name + tool, name + tool})
	}
	rules = append(rules, named(a, tool, arguments)...)
	switch a.Required {
	case v1alpha1.ApprovalAlways:
		if !readsOnly(tool) {
			name := "spec.approval.required Always: " + Shown(tool)
			rules = append(rules, ApprovalRule{name, name})
		}
	case v1alpha1.ApprovalIrreversible:
		if why, told := Irreversible(run, tool, arguments); why != "" {
			const name = "spec.approval.required Irreversible"
			rule := ApprovalRule{Reason: name + ": " + why}
			if told {
				rule.Name = name + ": " + effectOf(tool, arguments)
			}
			rules = append(rules, rule)
		}
	case v1alpha1.ApprovalNever:
	}
	return rules
}

// effectOf names the effect that calls like this one have outside of the sandbox.
func effectOf(tool, arguments string) string {
	if tool == toolapi.ToolFetch {
		if method, _, err := RequestLine(arguments); err == nil {
			return Shown(tool + " " + method)
		}
	}
	return Shown(tool)
}

// OpenRule returns the first rule by which a person must approve the call, and that no person has approved for the run; nil if there is none. steps
// are those of all attempts so far.
func OpenRule(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep, tool, arguments string) *ApprovalRule {
	for _, rule := range ApprovalRules(run, tool, arguments) {
		if rule.Name == "" || !approvedForRun(steps, tool, rule.Name) {
			return &rule
		}
	}
	return nil
}

// approvedForRun reports whether a person approved all calls of a tool that need approval by a rule.
func approvedForRun(steps []v1alpha1.MotorStep, tool, rule string) bool {
	for i := range steps {
		for _, a := range steps[i].Status.Asks {
			if a.Outcome != v1alpha1.AskApproved || a.Decision != v1alpha1.DecisionApproveRun || a.Rule != rule {
				continue
			}
			if c := CallOf(&steps[i], a.CallID); c != nil && c.Tool == tool {
				return true
			}
		}
	}
	return false
}

// MayNeedApproval reports whether the run has a rule by which a call can need a person's approval.
func MayNeedApproval(run *v1alpha1.MotorRun) bool {
	a := approvalRules(run)
	return a.Required == v1alpha1.ApprovalAlways || a.Required == v1alpha1.ApprovalIrreversible || len(a.Tools) > 0 || len(a.MCPTools) > 0 ||
		a.Bash != nil && len(a.Bash.Commands) > 0 || a.Fetch != nil && len(a.Fetch.Methods) > 0
}

// approvalRules returns the run's rules. A run without rules needs no approval.
func approvalRules(run *v1alpha1.MotorRun) *v1alpha1.RunApproval {
	if run.Spec.Approval == nil {
		return &v1alpha1.RunApproval{}
	}
	return run.Spec.Approval
}

// named returns the rules for single calls that apply.
func named(a *v1alpha1.RunApproval, tool, arguments string) []ApprovalRule {
	switch {
	case tool == toolapi.ToolBash && a.Bash != nil:
		return namedCommands(a.Bash.Commands, arguments)
	case tool == toolapi.ToolFetch && a.Fetch != nil:
		return namedMethod(a.Fetch.Methods, arguments)
	}
	server, name, ok := toolapi.ParseMCPToolName(tool)
	if !ok {
		return nil
	}
	var rules []ApprovalRule
	for _, rule := range a.MCPTools {
		if rule == server+"/"+name || rule == server+"/*" {
			name := fmt.Sprintf("spec.approval.mcpTools %q", rule)
			rules = append(rules, ApprovalRule{name, name})
		}
	}
	return rules
}

// namedCommands returns the patterns that name a command of a bash call, and a rule for each part of the line that cannot be determined.
func namedCommands(patterns []v1alpha1.CommandPattern, arguments string) []ApprovalRule {
	const rule = "spec.approval.bash.commands"
	list, err := parseCommand(arguments)
	if err != nil {
		return []ApprovalRule{{Reason: fmt.Sprintf("%s: what the line runs cannot be told: %s", rule, Shown(err.Error()))}}
	}
	var rules []ApprovalRule
	for _, p := range patterns {
		if c := list.Named(string(p)); c != nil {
			name := fmt.Sprintf("%s %q", rule, p)
			rules = append(rules, ApprovalRule{name, name + ": " + Shown(c.Text)})
		}
	}
	if c := list.Untold(); c != nil {
		rules = append(rules, ApprovalRule{Reason: rule + ": " + untold(c)})
	}
	return rules
}

func parseCommand(arguments string) (commandline.List, error) {
	line, err := TextArgument(arguments, ArgCommand)
	if err != nil {
		return commandline.List{}, err
	}
	return commandline.Parse(line)
}

// untold names a command, and why it cannot be determined what the command runs.
func untold(c *commandline.Command) string {
	why := c.Unknown
	if why == "" {
		why = "what a script runs is not looked into"
	}
	return fmt.Sprintf("%s: %s", Shown(why), Shown(c.Text))
}

// Shown returns a text of the model's in one line, with nothing in it that could deceive the eye.
func Shown(s string) string { return fit.Cut(Visible(fit.OneLine(s, fit.MaxHead)), fit.MaxHead) }

// namedMethod returns the rule about the method of a fetch call, if there is one.
func namedMethod(methods []string, arguments string) []ApprovalRule {
	const rule = "spec.approval.fetch.methods"
	method, address, err := RequestLine(arguments)
	if err != nil {
		return []ApprovalRule{{Reason: fmt.Sprintf("%s: the request cannot be told: %s", rule, Shown(err.Error()))}}
	}
	if !slices.ContainsFunc(methods, func(m string) bool { return strings.EqualFold(m, method) }) {
		return nil
	}
	name := rule + " " + Shown(method)
	return []ApprovalRule{{name, name + ": " + Shown(address)}}
}

var (
	errOtherMethod = errors.New("its address may stand for another method")
	errBody        = errors.New("a request that only reads has no body")
)

// methodNames are the parameters by which frameworks treat a request as one of another method: in small letters, with "-" for "_" and without
// leading dashes.
var methodNames = []string{"method-override", "http-method-override", "x-method-override", "x-http-method-override", "x-http-method"}

// namesOtherMethod reports whether the query of an address can make a server treat the request as one of another method. A server unescapes the
// names of parameters before it looks at them, so each is unescaped here. It returns true for a name that cannot be unescaped.
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

// RequestLine returns the method of a fetch call, in capitals, and its address. It returns an error if the server may treat the request as another
// one.
func RequestLine(arguments string) (method, address string, err error) {
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
		if body, err := TextArgument(arguments, name); err != nil || body != "" {
			return "", "", cmp.Or(err, errBody)
		}
	}
	return method, address, nil
}

func givenLine(arguments string) (method, address string, err error) {
	if method, err = TextArgument(arguments, argMethod); err != nil {
		return "", "", err
	}
	if address, err = TextArgument(arguments, argURL); err != nil {
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

// readsOnly reports whether a tool does no more than read in the workspace or ask a person.
func readsOnly(tool string) bool {
	return toolapi.OnlyReads(tool) || toolapi.WaitsForPerson(tool)
}

// Irreversible returns why the call may have an irreversible effect outside of the sandbox, "" if it plainly has none, and whether that can be
// determined from the call. Calls with such an effect are:
//   - a fetch call with a method other than GET, HEAD and OPTIONS,
//   - every call of a tool of an MCP server,
//   - save_credential,
//   - if the run has a way out, every code call, and a bash call with a command that is not of a short list of harmless ones.
func Irreversible(run *v1alpha1.MotorRun, tool, arguments string) (why string, told bool) {
	switch {
	case tool == toolapi.ToolFetch:
		method, address, err := RequestLine(arguments)
		switch {
		case err != nil:
			return "the request cannot be told: " + Shown(err.Error()), false
		case !isSafeMethod(method):
			return fmt.Sprintf("%s %s", Shown(method), Shown(address)), true
		}
	case tool == toolapi.ToolSaveCredential:
		return "a credential is stored", true
	case toolapi.IsMCPTool(tool):
		return "a tool of an MCP server may do anything", true
	case tool == toolapi.ToolCode && hasWayOut(run):
		return "a program may do anything that the way out allows", false
	case tool == toolapi.ToolBash && hasWayOut(run):
		return irreversibleCommand(arguments)
	}
	return "", true
}

const (
	// maxCommands bounds the commands that a reason names, maxCommand the characters of each where there are several.
	maxCommands = 3
	maxCommand  = 60
)

// irreversibleCommand names the commands of a bash call that may have an effect outside of the sandbox: the first few of them, and the number of
// the others. A person sees only the beginning and the end of a long line, and must know that more commands are between.
func irreversibleCommand(arguments string) (why string, told bool) {
	list, err := parseCommand(arguments)
	if err != nil {
		return "what the line runs cannot be told: " + Shown(err.Error()), false
	}
	all := list.NotHarmless()
	if len(all) == 0 {
		return "", true
	}
	told = list.Untold() == nil
	if len(all) == 1 {
		return Shown(all[0]), told
	}
	named := make([]string, 0, maxCommands)
	for _, c := range all[:min(len(all), maxCommands)] {
		named = append(named, fit.Cut(Shown(strings.TrimSuffix(c, ";")), maxCommand))
	}
	why = strings.Join(named, ", ")
	if more := len(all) - len(named); more > 0 {
		why += fmt.Sprintf(", and %d more", more)
	}
	return why, told
}
