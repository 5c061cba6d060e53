// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/engine/skills"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// runInstall installs the packages of a run of mode Install: one call, which no model asked for, like the code of a Oneshot run.
// It needs egress. The packages are stored before the call has its result, which names the object.
func (a *Attempt) runInstall(ctx context.Context) (outcome.Outcome, error) {
	env := a.Env
	way, err := box.OpenWayOut(ctx, env, a.Host.Box)
	if err != nil {
		return outcome.Outcome{}, err
	}
	if !way.Exists() {
		return outcome.Outcome{}, box.WayOutMissing(env, "the run may reach nothing")
	}
	args, refused, err := installArgs(ctx, env.Live, env.Run)
	if err != nil {
		return outcome.Outcome{}, err
	}
	sandbox, err := box.Open(env, a.Host.Box)
	if err != nil {
		return outcome.Outcome{}, err
	}
	defer sandbox.Close()
	sandbox.WayOut = way
	call := turn.Call{Tool: toolapi.ToolInstall, Arguments: text.JSON(args)}
	return a.once(ctx, sandbox, call, refused, a.wireInstall(sandbox, way))
}

// installArgs returns the packages and their sources, or the reason for which none are installed: the MotorCortex may have changed since the run was
// made.
func installArgs(ctx context.Context, live client.Reader, run *v1alpha1.MotorRun) (toolapi.InstallArgs, *toolapi.Result, error) {
	c, err := cortex.Get(ctx, live, run.Namespace)
	if err != nil {
		return toolapi.InstallArgs{}, nil, err
	}
	deps, sources := run.Spec.Dependencies, c.Spec.Packages
	if deps == nil {
		deps = &v1alpha1.SkillDependencies{}
	}
	if sources == nil {
		sources = &v1alpha1.PackageSources{}
	}
	if hash := skill.PackagesHash(deps, c.Spec.Packages); !runpolicy.InstallsFor(run, hash) {
		// The run is named by that hash, and nothing else may be stored under it.
		return toolapi.InstallArgs{}, notInstalled("spec.packages of the namespace's MotorCortex has changed since the run was made."), nil
	}
	args := toolapi.InstallArgs{NPM: deps.NPM, Pip: deps.Pip, Apt: deps.Apt, CABundle: sources.CABundle}
	for _, index := range skill.Indexes(deps, sources) {
		if index.URL == "" {
			return args, notInstalled("spec.packages.%s of the namespace's MotorCortex says no address to install from.", index.Kind), nil
		}
		switch index.Kind {
		case skill.KindNPM:
			args.NPMRegistry = index.URL
		case skill.KindPip:
			args.PipIndex = index.URL
		case skill.KindApt:
			args.AptSource, args.AptKeyring = sources.Apt.Entry(), sources.Apt.Keyring
		}
	}
	return args, nil, nil
}

// maxSaid is how much of the tool server's text is passed on, in bytes.
const maxSaid = 300

func notInstalled(format string, args ...any) *toolapi.Result {
	return toolapi.Refusal(toolapi.CodeInstallFailed, fmt.Sprintf(format, args...))
}

// installTools stores the packages that the sandbox has installed. It trusts no report of the sandbox about them.
type installTools struct {
	motorloop.Tools
	env    *runenv.Env
	client *toolclient.Client
}

// Call installs the packages.
func (t installTools) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	r, err := t.Tools.Call(ctx, c)
	switch {
	case err != nil:
		return toolapi.Result{}, err
	case r.ErrorCode == toolapi.CodeKilled, r.ErrorCode == toolapi.CodeCancelled:
		// The call was interrupted from outside.
		return toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown, Provenance: toolapi.ProvenanceInternal}, nil
	case !r.OK:
		r.OutputFile, r.KeptFile = "", ""
		return r, nil
	}
	return t.store(ctx, r)
}

// store reads the archive and stores it. A second engine repeats that, and finds it stored.
func (t installTools) store(ctx context.Context, r toolapi.Result) (toolapi.Result, error) {
	var said toolapi.InstallResult
	if err := json.Unmarshal([]byte(r.Output), &said); err != nil {
		return *notInstalled("The sandbox does not say what it installed."), nil
	}
	owner, skillName := installOwner(t.env.Run)
	if owner == nil {
		return *notInstalled("The run belongs to no Skill that the packages could be kept for."), nil
	}
	ctx, leave, err := t.env.Acquire(ctx, &t.env.Limits.Collecting, runenv.MaxCollecting)
	if err != nil {
		return toolapi.Result{}, fmt.Errorf("wait for the turn to store the packages: %w", err)
	}
	defer leave()
	content, res, err := t.read(ctx, said.SHA256)
	switch {
	case err != nil:
		return toolapi.Result{}, err
	case res != nil:
		return *res, nil
	}
	labels := map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentPackages, v1alpha1.LabelSkill: v1alpha1.SkillLabel(skillName)}
	names, err := skillstore.WriteChunks(ctx, t.env.Client, *owner, t.env.Run.Namespace, skillName+"-packages-"+said.SHA256[:12], labels, content)
	switch {
	case err == nil:
	case skills.NotTaken(err):
		return *notInstalled("The packages cannot be stored: %v.", err), nil
	default:
		return toolapi.Result{}, fmt.Errorf("store the packages: %w", err)
	}
	r.Output, r.OutputFile = encodeInstalled(toolapi.Installed{
		ConfigMaps: names, SHA256: said.SHA256, Size: int64(len(content)), Packages: said.Packages,
	}), ""
	return r, nil
}

// read reads the archive, or returns what is wrong with it.
func (t installTools) read(ctx context.Context, sum string) ([]byte, *toolapi.Result, error) {
	// It never grows: while it grew, the archive would be in memory twice.
	content := bytes.NewBuffer(make([]byte, 0, toolapi.MaxPackedBytes+bytes.MinRead))
	_, err := t.client.ReadArtifact(ctx, toolapi.InstallArchive, content, toolapi.MaxPackedBytes)
	remote, isRemote := toolclient.RemoteProblem(err)
	switch {
	case errors.Is(err, toolclient.ErrTooLong):
		return nil, toolapi.Refusal(toolapi.CodeInstallTooLarge, fmt.Sprintf("compressed the packages have more than %d MiB", toolapi.MaxPackedBytes>>20)), nil
	case isRemote:
		return nil, notInstalled("What was installed cannot be read: %s.", text.FirstBytes(remote.Message, maxSaid)), nil
	case err != nil:
		return nil, nil, t.env.Classify(ctx, err)
	case toolapi.SHA256(content.Bytes()) != sum:
		return nil, notInstalled("What the sandbox gives is not what it says that it installed."), nil
	}
	return content.Bytes(), nil, nil
}

// installOwner is the Skill that a run of mode Install belongs to, nil if it belongs to none.
func installOwner(run *v1alpha1.MotorRun) (owner *metav1.OwnerReference, name string) {
	ref := metav1.GetControllerOf(run)
	if ref == nil || ref.Kind != "Skill" {
		return nil, ""
	}
	if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != v1alpha1.GroupVersion.Group {
		return nil, ""
	}
	return ref, ref.Name
}

// encodeInstalled omits names of packages that do not fit.
func encodeInstalled(i toolapi.Installed) string {
	for n, name := range i.Packages {
		i.Packages[n] = text.CutBytes(text.Printable(name), maxSaid)
	}
	encoded := text.JSON(i)
	for len(encoded) > toolapi.MaxInstalledBytes && len(i.Packages) > 0 {
		i.Packages = i.Packages[:len(i.Packages)/2]
		encoded = text.JSON(i)
	}
	return encoded
}
