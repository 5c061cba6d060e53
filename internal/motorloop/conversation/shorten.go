// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// oldHead is the size to which results and arguments are cut; the model's text keeps twice as much.
	oldHead = 500
	// maxEncoded is the most bytes that JSON takes for a byte of text.
	maxEncoded = 6
)

// renderCut renders the beginning of a result, and how to see the remainder.
func renderCut(c turn.Call, res *toolapi.Result, head int) string {
	if res.Provenance == toolapi.ProvenanceUser || len(res.Output) <= head {
		return result.Render(res)
	}
	data, notes := res.Parts()
	if data == "" {
		data = notes
	}
	short := *res
	short.OutputFile, short.KeptFile = "", ""
	short.SetParts(lines(text.Cut(data, head, len(data)*maxEncoded, "")), "")
	return result.Render(&short) + "\n" + fmt.Sprintf("[shortened: these are the first %d of %d bytes. %s]",
		len(short.Output), len(res.Output), restOf(c, res))
}

// lines returns the text without an incomplete last line, unless that removes more than half of it.
func lines(s string) string {
	if i := strings.LastIndexByte(s, '\n'); i >= len(s)/2 {
		return s[:i+1]
	}
	return s
}

// restOf describes how the model can see the omitted part of a result again.
func restOf(c turn.Call, res *toolapi.Result) string {
	var args struct {
		Path string `json:"path"`
	}
	switch file := cmp.Or(res.OutputFile, res.KeptFile); {
	case file != "":
		return fmt.Sprintf("All of it is in the workspace file %q", file)
	case c.Tool == toolapi.ToolRead && json.Unmarshal([]byte(c.Arguments), &args) == nil && args.Path != "":
		return fmt.Sprintf("If you need the rest, read %s again", text.JSON(text.CutBytes(args.Path, result.MaxOutputFile)))
	case catalog.OnlyReads(c.Tool):
		return "If you need the rest, make this call again"
	}
	return "The rest is not kept"
}

// argumentsCutNote prevents the model from mistaking its shortened arguments for the ones that it wrote.
const argumentsCutNote = "\n[the arguments of this call are shortened here; it was made with all of them]"

// shortenArguments cuts long arguments. They stay a JSON object with the same fields, as long as there are not very many:
// a model that sees calls of another form in its own messages makes calls of that form.
func shortenArguments(raw string, head int) string {
	if len(raw) <= head {
		return raw
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &object) != nil || object == nil {
		return text.Cut(raw, head, len(raw)*maxEncoded, "…")
	}
	short := map[string]any{}
	each := max(head/max(len(object), 1), len("…"))
	for name, value := range object {
		var long string
		switch {
		case len(value) <= each:
			short[name] = value
		case json.Unmarshal(value, &long) == nil:
			short[name] = text.Cut(long, each, len(long)*maxEncoded, "…")
		default:
			short[name] = text.Cut(string(value), each, len(value)*maxEncoded, "…")
		}
	}
	if s := text.JSON(short); len(s) <= 2*head {
		return s
	}
	return text.JSON(map[string]string{"shortened": text.Cut(raw, head, len(raw)*maxEncoded, "…")})
}

// cutContent cuts the model's text. The mark of a truncated answer must remain: the reminder to the model depends on it.
func cutContent(s string, head int) string {
	mark := "…"
	if strings.HasSuffix(s, turn.TruncatedMark) {
		mark = turn.TruncatedMark
	}
	return text.Cut(s, head, len(s)*maxEncoded, mark)
}
