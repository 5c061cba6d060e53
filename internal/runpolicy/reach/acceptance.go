// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/acceptance"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// RefuseAcceptance returns why no run can satisfy spec.accept, nil if one can.
func RefuseAcceptance(run *v1alpha1.MotorRun) *Refusal {
	if err := acceptance.Check(run.Spec.Accept); err != nil {
		return finalRefusal(v1alpha1.ReasonAcceptInvalid, "spec.accept.%v. Create another run.", err)
	}
	return nil
}

// Demands are the conditions under which a run counts as done: those of the run, and those of the policy of its skill.
type Demands struct {
	Files    []string
	Commands []v1alpha1.AcceptCommand
	// Schemas are JSON schemas. The value of the result must fit each of them.
	Schemas []string
}

// DemandsOf returns the conditions that must hold before the run counts as done.
func DemandsOf(run *v1alpha1.MotorRun) Demands {
	pin := run.Status.Skill
	if pin == nil || !pin.Approved || pin.Policy == nil {
		return demandsOf(run.Spec.Accept)
	}
	return demandsOf(run.Spec.Accept, pin.Policy.Accept)
}

// demandsOf merges the demands, in their order. A command that occurs twice runs once.
func demandsOf(asked ...*v1alpha1.RunAcceptance) Demands {
	var d Demands
	for _, a := range asked {
		if a == nil {
			continue
		}
		d.Files, d.Commands = union(d.Files, a.Files), union(d.Commands, a.Commands)
		if a.ValueSchema != "" {
			d.Schemas = union(d.Schemas, []string{a.ValueSchema})
		}
	}
	return d
}

// refuseChecks finds a command of a run's spec.accept that the policy of its skill does not grant: the commands run with the domains and
// credentials of the skill.
func refuseChecks(a *v1alpha1.RunAcceptance, p *v1alpha1.SkillPolicy) *Refusal {
	const reason = v1alpha1.ReasonSkillPolicyExceeded
	if n := len(demandsOf(a, p.Accept).Commands); n > toolapi.MaxCalls {
		return finalRefusal(v1alpha1.ReasonAcceptInvalid, "spec.accept.commands and those of the skill's policy are %d together, and may be %d: leave some out.", n, toolapi.MaxCalls)
	}
	if a == nil || len(a.Commands) == 0 {
		return nil
	}
	if !slices.Contains(p.Tools, toolapi.ToolBash) {
		return finalRefusal(reason, "spec.accept.commands: the skill's policy does not grant the tool bash: leave them out, or have the policy changed.")
	}
	if !narrowsBash(p.Bash) {
		return nil
	}
	for i, c := range a.Commands {
		if why := calls.Disallowed(text.JSON(toolapi.BashArgs{Command: c.Command}), p.Bash.AllowedCommands); why != "" {
			return finalRefusal(reason, "spec.accept.commands[%d] is not within the commands of the skill's policy: %s. Leave it out, or have the policy changed.",
				i, calls.Visible(fit.OneLine(why, fit.MaxHead)))
		}
	}
	return nil
}
