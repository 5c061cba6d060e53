// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"motorcortex.dev/motorcortex/internal/signal/notice"
)

// origin is a message with buttons.
type origin struct {
	// address is where its replacement is posted to.
	address string
	// about says what was asked, and what was chosen if that is an option.
	about []part
	label string
}

// message is a reply, and where it is posted to.
type message struct {
	to   string
	what reply
}

// carryOut carries out what a person pressed, and returns what is told of it. No person takes the places of the others: not while the cluster takes its time, and
// not while Slack does.
func (h *Handler) carryOut(ctx context.Context, key []byte, i *interaction) []message {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	confirms := i.Actions[0].ID == actionConfirm
	person, err := personOf(h.options.UsersFile, i.User.team(), i.User.ID)
	if err != nil {
		return []message{{i.ResponseURL, h.failed(i, err, confirms)}}
	}
	if err := h.slots.Wait(ctx, person.User, 1); err != nil {
		return []message{{i.ResponseURL, saying("Nothing was sent: too much is carried out at once. Press the button again in a while.", false)}}
	}
	defer h.slots.Give(person.User, 1)
	var all []message
	if confirms {
		all, err = h.confirm(ctx, key, i, person)
	} else {
		all, err = h.show(ctx, key, i, person)
	}
	if err != nil {
		return []message{{i.ResponseURL, h.failed(i, err, confirms)}}
	}
	return all
}

// failed says why what a person pressed was not carried out.
func (h *Handler) failed(i *interaction, err error, confirms bool) reply {
	var r refusal
	switch {
	case errors.As(err, &r) && r.unsure:
		return saying("It is not known whether it was sent. "+r.text, confirms)
	case errors.As(err, &r):
		return saying("Nothing was sent. "+r.text, confirms)
	case errors.Is(err, errConfirmation):
		return saying("Nothing was sent: "+err.Error()+".", confirms)
	case errors.Is(err, errUnmapped):
		return saying(fmt.Sprintf("Nothing was sent: no user of the cluster is mapped to you, %s of the team %s. Ask the person who runs the page.", i.User.ID, i.User.team()), confirms)
	}
	h.log.Error("a button of Slack is not carried out", "team", i.User.team(), "user", i.User.ID, "error", err)
	begins := "Nothing was sent: "
	if errors.Is(err, errUnsure) {
		begins = "It is not known whether it was sent: "
	}
	return saying(begins+"the server failed, and the person who runs the page finds the cause in its log.", confirms)
}

// confirm sends what a person confirmed.
func (h *Handler) confirm(ctx context.Context, key []byte, i *interaction, person Person) ([]message, error) {
	c, err := open(key, i.Actions[0].Value, &i.User, h.now())
	if err != nil {
		return nil, err
	}
	if err := (desk{h.page(person)}).decide(ctx, &c); err != nil {
		return nil, err
	}
	h.log.Info("an ask was answered from Slack", "team", i.User.team(), "user", i.User.ID, "as", person.User, "namespace", c.Namespace, "run", c.Run, "id", c.ID)
	all := []message{{i.ResponseURL, saying(fmt.Sprintf("Sent to %s/%s, as %s.", c.Namespace, c.Run, person.User), true)}}
	kept, ok := h.origins.Get(string(c.MAC))
	if !ok {
		return all, nil // The server was started again meanwhile. The message stays as it is.
	}
	h.origins.Remove(string(c.MAC))
	from := kept.(origin)
	said, err := settled(from.about, from.label, person.User, &c.Button)
	if err != nil {
		return all, nil //nolint:nilerr // The answer was sent, which is what counts.
	}
	return append(all, message{from.address, said}), nil
}

// show shows an ask to the person who pressed a button about it.
func (h *Handler) show(ctx context.Context, key []byte, i *interaction, person Person) ([]message, error) {
	a := &i.Actions[0]
	var b notice.Button
	if err := json.Unmarshal([]byte(a.Value), &b); err != nil || !strings.HasPrefix(a.ID, notice.ActionChoose) ||
		len(validation.IsDNS1123Label(b.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(b.Run)) > 0 {
		return nil, refusal{text: "The button is none of Motor Cortex."}
	}
	shown, err := desk{h.page(person)}.find(ctx, b.Namespace, b.Run, b.UID, b.ID)
	if err != nil {
		return nil, err
	}
	c, err := choose(shown, &b)
	if err != nil {
		return nil, err
	}
	value, mac, err := seal(key, confirmation{Button: b, Seen: shown.Seen}, &i.User, h.now())
	if err != nil {
		return nil, err
	}
	said, err := showing(shown, &b, c, value)
	if err != nil {
		return nil, err
	}
	h.origins.Add(string(mac), origin{i.ResponseURL, about(shown, &b), c.label}, confirmFor)
	return []message{{i.ResponseURL, said}}, nil
}

// post sends a reply to the person, at the address that Slack gave for it.
func (h *Handler) post(ctx context.Context, to string, what reply) {
	if !strings.HasPrefix(to, h.options.RepliesTo) {
		h.log.Warn("a reply cannot be posted: its address is none of Slack's")
		return
	}
	body, err := what.encode()
	if err != nil {
		h.log.Error("a reply has no JSON form", "error", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		h.log.Warn("a reply cannot be posted", "error", "its address cannot be read")
		return
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := h.options.HTTP.Do(req)
	if err != nil {
		// The address is a secret of the person's: an error has it.
		h.log.Warn("a reply could not be posted to Slack")
		return
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, maxBody)
	if res.StatusCode >= http.StatusMultipleChoices {
		h.log.Warn("Slack refuses a reply", "status", res.StatusCode)
	}
}
