// SPDX-License-Identifier: Apache-2.0

// Package script reads scripted conversations and says what the model answers
// in them. It does no I/O of its own beyond reading an fs.FS, has no clock and
// keeps no state: the same conversation always gets the same answer, also after
// the client or the server was restarted.
//
// # Format
//
// One YAML file is one script. A script is a list of turns; turn n answers a
// conversation that holds n assistant messages already.
//
//	name: portfolio              # default: the file's name without .yaml
//	description: reads a file, computes, asks, reports
//	turns:
//	- content: I look at the data first.
//	  toolCalls:
//	  - name: read
//	    arguments: {path: positions.csv}
//	- name: compute
//	  toolCalls:
//	  - name: code
//	    arguments:
//	      language: python
//	      source: |
//	        rows = {{ .Last | json }}.splitlines()
//	        print("rows:", len(rows))
//	  fault: {kind: status, status: 429, retryAfterSeconds: 1, times: 2}
//	- alternatives:
//	  - when: {lastToolOK: false}
//	    content: That failed, once more.
//	    toolCalls:
//	    - {name: bash, arguments: {command: "true"}}
//	    goto: compute
//	  - toolCalls:
//	    - name: ask_user
//	      arguments: {question: "{{ .Last | after \"rows: \" | line 1 }} rows. Go on?"}
//	- content: "Done, the answer was {{ .Tool \"ask_user\" | trim | json }}."
//
// Script: name, description, turns, and
//   - window: how many tokens a request may have. A longer one is refused with
//     context_length_exceeded, as endpoints do.
//   - follow: count (default) finds the turn by counting assistant messages and
//     following goto; callID reads it from the last call id that this package
//     made up, which still works when the client shortened the history. callID
//     excludes goto.
//
// A request after the last turn is an error. Some requests are no turns of the
// conversation and get the same answer in all scripts: for a summary, a partial
// result or a hint. Such an aside has no tools and retells the conversation in
// one message; which it is shows in its system prompt (see asideSigns). A
// summary may also be asked for by the last message of the whole conversation.
//
// Turn: name (for goto), repeat (the turn stands n times in the list), and
// either one answer's fields or alternatives, of which the first whose when
// holds is played. None holding is an error.
//
// Answer: when, content, toolCalls, fault or faults, goto (the turn after this
// one), and finish: Succeeded (default), Partial, Failed or Text. To a client that offers a
// tool named finish, content without toolCalls is the summary of a call of it
// with that status; Text leaves it a text.
//
// Tool call: name, id (default call_<turn>_<n>; the same id twice is allowed,
// on purpose), and arguments (any mapping) or argumentsRaw (sent as it is, so it
// can be malformed). Every string in content, arguments and argumentsRaw is a
// template.
//
// when: all that is given must hold.
//   - lastTool: the name of the tool whose output came last
//   - lastToolOutputMatches: regexp on that output
//   - lastToolOK: if the whole output is a JSON object with a boolean "ok",
//     that; otherwise false exactly if its first line begins with "error" or
//     "exit status 1", or says ok=false
//   - lastUserMatches, systemMatches: regexp on the last user message, all
//     system messages together
//
// # Templates
//
// text/template, with a missing key as an error. Data: .Last (last tool output),
// .LastJSON (the JSON in it, numbers as they were written), .Tool "NAME" (latest
// output of the tool or call id NAME), .Task (the first user message, in which a
// test puts values), .System (all system messages), .Attempt (from 1)
// and .Turn (from 0), .Messages, .Value "NAME" ["DEFAULT"] (VALUE where the task says NAME=VALUE), and
// .Effect ["PART"...] (a bash command that has an effect which is counted at
// /effects as RUN.aATTEMPT.tTURN.PART; the task has to say "as RUN" and
// counter=IP:PORT). Functions: json, line N, after "M", trim, regexFind "RE"
// (the first group, or all), and the built-in ones. line counts from 1,
// or from the end with -1. What is not found is an error, never an empty string:
// a script that goes on with nothing would make a test pass for no reason.
//
// # Faults
//
// {kind, times, delay, status, retryAfterSeconds, code, message}: the first
// `times` requests for that turn of that conversation get the fault, later ones
// the answer. Without times it is every request. faults is a list, used up in
// order. delay can be added to any of them. A conversation is known by its
// first system and first user message, so two runs that need separate counts
// need separate tasks.
//   - status: that HTTP status, an error body, perhaps Retry-After
//   - slow: the answer, after delay, if the client is still there
//   - late: the answer, after delay, also to a client that has given up
//   - trickle: the answer, its parts spread evenly over delay; one that does
//     not stream comes after it
//   - hang: nothing, until the client leaves or delay (default 5m) is over
//   - stall: half the answer, then nothing, until the client leaves or delay
//     (default 5m) is over
//   - disconnect: the connection is closed before any answer
//   - cutStream, cutBody: half the answer, then the connection breaks
//   - endStream: half the stream, then a clean end without [DONE]
//   - malformedJSON, truncatedJSON: status 200 with a body or chunk that is not
//     JSON, or is its first half
//   - empty: an assistant message with neither text nor calls
//   - noChoices: a completion without choices
//
// times is for faults after which a client sends the same request again. A
// client that takes an empty answer into the conversation comes back with the
// next turn; such a fault is written as a turn of its own, without times.
package script
