// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrNoRequest says that no request came in the time that Next waited.
var ErrNoRequest = errors.New("no request is waiting")

const seenFile = "seen"

// Next waits for a request in the folder of a model that has no answer yet, and prints what is new in it since it was called last, and
// how it is answered.
func Next(ctx context.Context, dir string, within time.Duration, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		n, err := unanswered(dir)
		if err != nil {
			return err
		}
		if n > 0 {
			return show(dir, n, out)
		}
		select {
		case <-ctx.Done():
			return ErrNoRequest
		case <-ticker.C:
		}
	}
}

// unanswered returns the number of the newest request if it has no answer, and else 0.
func unanswered(dir string) (int, error) {
	found, err := filepath.Glob(filepath.Join(dir, "req-*.json"))
	if err != nil || len(found) == 0 {
		return 0, err
	}
	newest := 0
	for _, path := range found {
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "req-"), ".json"))
		if err == nil && n > newest {
			newest = n
		}
	}
	_, err = os.Stat(filepath.Join(dir, responseFile(newest)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return newest, nil
	case err != nil:
		return 0, err
	}
	return 0, nil
}

// message is what of a message is shown.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
	Calls   []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func show(dir string, n int, out io.Writer) error {
	body, err := os.ReadFile(filepath.Join(dir, requestFile(n)))
	if err != nil {
		return err
	}
	req, err := parse(body)
	if err != nil {
		return err
	}
	seen := shown(dir, req)
	fmt.Fprintf(out, "== request %d: %d messages, about %d tokens\n", n, len(req.Messages), len(req.prompt())/4)
	if seen == 0 && len(req.Tools) > 0 {
		fmt.Fprintf(out, "== tools\n%s\n", indented(req.Tools))
	}
	if seen > 0 {
		fmt.Fprintf(out, "== the first %d messages are as before\n", seen)
	}
	for _, raw := range req.Messages[seen:] {
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		fmt.Fprintf(out, "--- %s: %s\n", m.Role, contentText(m.Content))
		for _, c := range m.Calls {
			fmt.Fprintf(out, "    calls %s %s\n", c.Function.Name, c.Function.Arguments)
		}
	}
	fmt.Fprintf(out, "== answer: write {\"content\": text or null, \"tool_calls\": [{\"name\": …, \"arguments\": {…}}]} to\n   %s\n",
		filepath.Join(dir, responseFile(n)))
	return os.WriteFile(filepath.Join(dir, seenFile), body, 0o644)
}

// shown returns how many messages at the beginning of a request were shown before, word for word. One that was changed since is shown
// again: whoever plays the model must see the conversation as it is.
func shown(dir string, req request) int {
	body, err := os.ReadFile(filepath.Join(dir, seenFile))
	if err != nil {
		return 0
	}
	before, err := parse(body)
	if err != nil || string(before.Tools) != string(req.Tools) {
		return 0
	}
	n := 0
	for n < min(len(before.Messages), len(req.Messages)) && string(before.Messages[n]) == string(req.Messages[n]) {
		n++
	}
	if n == len(req.Messages) {
		return 0
	}
	return n
}

func contentText(content any) string {
	if text, ok := content.(string); ok {
		return text
	}
	text, err := json.Marshal(content)
	if err != nil {
		return fmt.Sprint(content)
	}
	return string(text)
}

func indented(raw json.RawMessage) string {
	text, err := json.MarshalIndent(raw, "", " ")
	if err != nil {
		return string(raw)
	}
	return string(text)
}
