// SPDX-License-Identifier: Apache-2.0

package toolapi

// origin is where the text of a result may have come from.
type origin int

const (
	// The zero origin: the result is the server's or the engine's own words.
	_ origin = iota
	// quotesResult: a result that is ok may hold text that came in from the web earlier.
	quotesResult
	// quotesAll: an error quotes such text too.
	quotesAll
	// web: every result counts as text from the web.
	web
)

// facts are what every part of the operator goes by when it decides about a call of a tool. A new tool needs a row of the table below, and
// nothing else, to be retried, counted as an effect and marked as data in the right cases.
type facts struct {
	// onlyReads: a call reads the workspace and changes nothing.
	onlyReads bool
	// repeatable: a call can be made again without harm when its end was not seen, because it only reads, or does nothing when it is done twice.
	repeatable bool
	// effects: a call may have done something that another attempt must know of if its end was not seen.
	effects bool
	// reachesOut: a call can use the sandbox's way out.
	reachesOut bool
	// asksPerson: the result of a call is a person's answer.
	asksPerson bool
	// writesFiles: a call can write a file of the model's own wording.
	writesFiles bool
	// inSandbox: a call acts in the sandbox alone. It asks for nothing outside of it, and ends no run.
	inSandbox bool
	// origin is where its results may have come from, if the sandbox has or had a way out, or was given a file that came from the web. An
	// output can be that of any program, a file can be a download, and edit and patch quote the file, above all where they do not fit.
	origin origin
}

var tools = map[string]facts{
	ToolBash:            {inSandbox: true, effects: true, reachesOut: true, writesFiles: true, origin: quotesAll},
	ToolCode:            {inSandbox: true, effects: true, reachesOut: true, origin: quotesAll},
	ToolRead:            {inSandbox: true, onlyReads: true, repeatable: true, origin: quotesResult},
	ToolWrite:           {inSandbox: true, effects: true, writesFiles: true},
	ToolEdit:            {inSandbox: true, effects: true, writesFiles: true, origin: quotesAll},
	ToolPatch:           {inSandbox: true, effects: true, writesFiles: true, origin: quotesAll},
	ToolList:            {inSandbox: true, onlyReads: true, repeatable: true, origin: quotesResult},
	ToolGlob:            {inSandbox: true, onlyReads: true, repeatable: true, origin: quotesResult},
	ToolGrep:            {inSandbox: true, onlyReads: true, repeatable: true, origin: quotesResult},
	ToolFetch:           {inSandbox: true, effects: true, reachesOut: true, origin: web},
	ToolSearchWeb:       {repeatable: true, origin: web},
	ToolSaveArtifact:    {repeatable: true},
	ToolAskUser:         {asksPerson: true},
	ToolFinish:          {},
	ToolRequestApproval: {asksPerson: true},
	ToolRequestDomain:   {repeatable: true, asksPerson: true},
	ToolSaveCredential:  {repeatable: true},
	ToolOneshot:         {repeatable: true, reachesOut: true},
	ToolOneshotNetwork:  {effects: true, reachesOut: true, origin: web},
	ToolInstall:         {repeatable: true, reachesOut: true, origin: web},
}

// factsOf returns the facts of a tool. A tool of an MCP server may do anything; a name that is no tool does nothing.
func factsOf(tool string) facts {
	if IsMCPTool(tool) {
		return facts{inSandbox: true, effects: true, reachesOut: true, origin: web}
	}
	return tools[tool]
}

// OnlyReads reports whether a call of the tool reads the workspace and changes nothing.
func OnlyReads(tool string) bool { return factsOf(tool).onlyReads }

// Repeatable reports whether a call of the tool can be made again without harm when its end was not seen.
func Repeatable(tool string) bool { return factsOf(tool).repeatable }

// WorksInSandbox reports whether a call of the tool acts in the sandbox alone: it asks for nothing outside of it, and ends no run.
func WorksInSandbox(tool string) bool { return factsOf(tool).inSandbox }

// HasEffects reports whether a call of the tool may have done something that another attempt must know of if its end was not seen.
func HasEffects(tool string) bool { return factsOf(tool).effects }

// ReachesOut reports whether a call of the tool can use the sandbox's way out.
func ReachesOut(tool string) bool { return factsOf(tool).reachesOut }

// WaitsForPerson reports whether a call of the tool gets its result from a person's answer.
func WaitsForPerson(tool string) bool { return factsOf(tool).asksPerson }

// WritesFiles reports whether a call of the tool can write a file of the model's own wording, such as a SKILL.md.
func WritesFiles(tool string) bool { return factsOf(tool).writesFiles }

// CarriesWeb reports whether a result of the tool may hold text that came in from the web.
func CarriesWeb(tool string, ok bool) bool {
	o := factsOf(tool).origin
	return o >= quotesAll || o == quotesResult && ok
}

// AlwaysWeb reports whether every result of the tool counts as text that came in from the web.
func AlwaysWeb(tool string) bool { return factsOf(tool).origin == web }

// IsOneshot reports whether the tool runs the code of a Oneshot run.
func IsOneshot(tool string) bool { return tool == ToolOneshot || tool == ToolOneshotNetwork }
