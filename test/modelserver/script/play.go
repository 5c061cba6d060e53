// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// Play is what the model answers to one request.
type Play struct {
	// Turn is the number of answers before this one, and Position is the place
	// in the script's list; they differ after a goto. TurnName may be empty.
	Turn     int
	Position int
	TurnName string
	// Conversation names the conversation by how it began.
	Conversation string

	Content      string
	ToolCalls    []Call
	FinishReason string
	// Finish is the status of the finish call that Content becomes, "" for Succeeded: see WithFinish.
	Finish string
	Faults Faults
}

// Why a script has no answer. They are the script author's errors, not the client's.
var (
	ErrPastEnd  = errors.New("the conversation went past the script's end")
	ErrNoMatch  = errors.New("no alternative of the turn matches")
	ErrTemplate = errors.New("a template failed")
)

// Play returns the answer to a conversation. It is a function of its arguments
// alone: where the script stands is found by walking the conversation again, so
// nothing has to survive a restart. With an error, the place that was reached is
// still filled in.
func (s *Script) Play(messages []Message) (*Play, error) {
	talk := withoutLeft(current(messages))
	play := &Play{Conversation: conversationKey(talk)}
	play.Turn, play.Position = s.locate(talk)
	if play.Position < len(s.turns) {
		play.TurnName = s.turns[play.Position].name
	}
	chosen, err := s.choose(play.Position, talk)
	if err != nil {
		return play, s.wrap(play, err)
	}
	return play, s.say(play, chosen, data{Turn: play.Turn, Messages: talk})
}

// say fills in what is answered.
func (s *Script) say(play *Play, chosen *answer, d data) error {
	play.FinishReason, play.Finish, play.Faults = "stop", chosen.finish, chosen.faults
	if len(chosen.calls) > 0 {
		play.FinishReason = "tool_calls"
	}
	if err := play.speak(chosen, d); err != nil {
		return s.wrap(play, fmt.Errorf("%w: %w", ErrTemplate, err))
	}
	return nil
}

func (s *Script) wrap(play *Play, err error) error {
	name := ""
	if play.TurnName != "" {
		name = fmt.Sprintf(" (%s)", play.TurnName)
	}
	return fmt.Errorf("script %q, turn %d%s: %w", s.Name, play.Turn, name, err)
}

// What Finish may say beside Partial and Failed.
const (
	succeeded = "Succeeded"
	staysText = "Text"
)

// WithFinish returns the play for a client that offers the tool finish: a text without calls becomes the summary of a call of it, unless the
// script wants a text. For a client that does not offer the tool it stays a text.
func (p *Play) WithFinish() *Play {
	if len(p.ToolCalls) > 0 || p.Content == "" || p.FinishReason != "stop" || p.Finish == staysText {
		return p
	}
	closed := *p
	closed.Content, closed.FinishReason = "", "tool_calls"
	arguments, err := json.Marshal(map[string]string{"status": cmp.Or(p.Finish, succeeded), "summary": p.Content})
	if err != nil {
		panic(err) // Strings have a form in JSON.
	}
	closed.ToolCalls = []Call{{ID: callID(p.Turn, 0), Name: "finish", Arguments: string(arguments)}}
	return &closed
}

// locate returns the number of answers so far and the place of the next one.
func (s *Script) locate(talk []Message) (turn, position int) {
	if s.follow == followCallID {
		turn = turnByCallID(talk)
		return turn, min(turn, len(s.turns))
	}
	for i := range talk {
		if talk[i].Role == RoleAssistant {
			position = s.next(position, talk[:i])
			turn++
		}
	}
	return turn, position
}

// next returns the place after the answer that was given to talk at position.
func (s *Script) next(position int, talk []Message) int {
	if position >= len(s.turns) {
		return position
	}
	if a := matching(s.turns[position].alternatives, talk); a != nil && a.goTo != "" {
		return s.position[a.goTo]
	}
	return position + 1
}

func (s *Script) choose(position int, talk []Message) (*answer, error) {
	if position >= len(s.turns) {
		return nil, fmt.Errorf("%w after %d turns", ErrPastEnd, len(s.turns))
	}
	if a := matching(s.turns[position].alternatives, talk); a != nil {
		return a, nil
	}
	return nil, ErrNoMatch
}

// speak renders all that the answer says.
func (p *Play) speak(a *answer, d data) error {
	var err error
	if p.Content, err = render(a.content, d); err != nil {
		return err
	}
	for n, c := range a.calls {
		id := c.id
		if id == "" {
			id = callID(p.Turn, n)
		}
		arguments, err := c.render(d)
		if err != nil {
			return err
		}
		p.ToolCalls = append(p.ToolCalls, Call{ID: id, Name: c.name, Arguments: arguments})
	}
	return nil
}

func (c call) render(d data) (string, error) {
	if c.raw != nil {
		return render(c.raw, d)
	}
	value, err := renderValue(c.arguments, d)
	if err != nil {
		return "", err
	}
	return toJSON(value)
}
