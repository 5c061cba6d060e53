// SPDX-License-Identifier: Apache-2.0

// Package bare is the line to beat: one tool, a loop around it, and the same model. It is in the evaluation and nowhere else.
package bare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"motorcortex.dev/motorcortex/test/eval/internal/task"
)

// system is all that the model is told beside the task.
const system = "Carry out the task in the current folder with the tool bash. When you are done, or cannot go on, answer without a call: " +
	"one of the words SUCCEEDED, PARTIAL or FAILED, and then the result."

var tools = json.RawMessage(`[{"type":"function","function":{"name":"bash","description":"Runs a command and returns its output.",` +
	`"parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}}]`)

// Message is one of a conversation.
type Message struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	ToolCalls  []Call  `json:"tool_calls,omitempty"`
	ToolCallID string  `json:"tool_call_id,omitempty"`
}

// Call is a call of the tool.
type Call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Model answers a conversation.
type Model interface {
	Answer(ctx context.Context, messages []Message, tools json.RawMessage) (Message, error)
}

// Shell runs a command in the folder of the task. An exit status is part of the output; an error ends the loop.
type Shell interface {
	Bash(ctx context.Context, command string) (string, error)
}

// Result is how a loop ended.
type Result struct {
	Claim   task.Claim
	Reason  string
	Summary string
	Turns   int
}

// Run is the loop. It ends when the model answers without a call, when its answers are used up, or when the time of ctx is over.
func Run(ctx context.Context, model Model, shell Shell, instruction string, turns int) (Result, error) {
	conversation := []Message{say("system", system), say("user", instruction)}
	for turn := 1; turn <= turns; turn++ {
		answer, err := model.Answer(ctx, conversation, tools)
		if ctx.Err() != nil {
			return Result{Claim: task.GaveUp, Reason: "Timeout", Turns: turn - 1}, nil
		}
		if err != nil {
			return Result{Turns: turn - 1}, err
		}
		conversation = append(conversation, answer)
		if len(answer.ToolCalls) == 0 {
			text := ""
			if answer.Content != nil {
				text = *answer.Content
			}
			return Result{Claim: ClaimOf(text), Summary: text, Turns: turn}, nil
		}
		for _, call := range answer.ToolCalls {
			output, err := bash(ctx, shell, call)
			if err != nil && ctx.Err() == nil {
				return Result{Turns: turn}, err
			}
			result := say("tool", output)
			result.ToolCallID = call.ID
			conversation = append(conversation, result)
		}
	}
	return Result{Claim: task.GaveUp, Reason: "MaxIterations", Turns: turns}, nil
}

func bash(ctx context.Context, shell Shell, call Call) (string, error) {
	var arguments struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil || call.Function.Name != "bash" || arguments.Command == "" {
		return fmt.Sprintf(`The only tool is bash, with an argument "command": %s %s`, call.Function.Name, call.Function.Arguments), nil
	}
	return shell.Bash(ctx, arguments.Command)
}

func say(role, text string) Message { return Message{Role: role, Content: &text} }

var claimed = regexp.MustCompile(`(?i)^[\s*_#]*(succeeded|partial|failed)\b`)

// ClaimOf reads what a text says of the end by its first word. Without such a word it is taken for a success, as text without a call is
// by every loop that has no other end.
func ClaimOf(text string) task.Claim {
	found := claimed.FindStringSubmatch(text)
	if found == nil {
		return task.Succeeded
	}
	return map[string]task.Claim{"succeeded": task.Succeeded, "partial": task.Partial, "failed": task.Failed}[strings.ToLower(found[1])]
}

// ErrRefused is returned when the endpoint refuses a request for good.
var ErrRefused = errors.New("the endpoint refused the request")
