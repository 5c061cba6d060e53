// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// maxMessage is the most bytes of a message in a line.
const maxMessage = 1000

func (c Command) list() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List schedules, with their last start and the next one.", Args: verb.Args()}
	everywhere := cmd.Flags().BoolP("all-namespaces", "A", false, "in all namespaces")
	var format output.Format
	format.Bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cl, namespace, err := c.Connect()
		if err != nil {
			return err
		}
		if *everywhere {
			namespace = ""
		}
		schedules, err := all(cmd.Context(), cl, namespace)
		if err != nil {
			return err
		}
		if format != output.ForPeople {
			return output.List(c.Out, format, cl.Scheme(), schedules)
		}
		if len(schedules) == 0 {
			fmt.Fprintln(c.Err, "There are no schedules.")
			return nil
		}
		c.table(schedules, *everywhere)
		return nil
	}
	return cmd
}

// all reads the schedules of a namespace, of all namespaces if it is "", in the order of their names.
func all(ctx context.Context, cl client.Client, namespace string) ([]*v1alpha1.MotorSchedule, error) {
	schedules, err := lookup.All[*v1alpha1.MotorSchedule](ctx, cl, &v1alpha1.MotorScheduleList{}, namespace)
	if err != nil {
		return nil, fmt.Errorf("list MotorSchedules: %w", err)
	}
	return schedules, nil
}

func (c Command) table(schedules []*v1alpha1.MotorSchedule, everywhere bool) {
	header := []string{"NAME", "SCHEDULE", "ZONE", "STATE", "ACTIVE", "LAST", "NEXT IN"}
	if everywhere {
		header = append([]string{"NAMESPACE"}, header...)
	}
	now := c.Now()
	rows := make([][]string, 0, len(schedules))
	for _, s := range schedules {
		row := []string{
			s.Name, show.Line(s.Spec.Schedule, maxMessage), show.Line(ptr.Deref(s.Spec.TimeZone, "UTC"), maxMessage), state(s),
			strconv.Itoa(len(s.Status.Active)), since(now, s.Status.LastScheduleTime), until(now, s.Status.NextScheduleTime),
		}
		if everywhere {
			row = append([]string{s.Namespace}, row...)
		}
		rows = append(rows, row)
	}
	show.Table(c.Out, header, rows)
}

// state is the reason of the condition Ready.
func state(s *v1alpha1.MotorSchedule) string {
	if c := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ScheduleReady); c != nil {
		return show.Line(c.Reason, maxMessage)
	}
	return ""
}

func since(now time.Time, t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return show.Since(now, *t)
}

func until(now time.Time, t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return show.Until(now, *t)
}

func (c Command) get() *cobra.Command {
	cmd := &cobra.Command{Use: "get NAME", Short: "Show a schedule: its starts, its runs, and why no run begins.", Args: verb.Args("the NAME of the schedule")}
	var format output.Format
	format.Bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cl, namespace, err := c.Connect()
		if err != nil {
			return err
		}
		s, err := read(cmd.Context(), cl, namespace, args[0])
		if err != nil {
			return err
		}
		if format != output.ForPeople {
			return output.Object(c.Out, format, cl.Scheme(), s)
		}
		c.describe(s)
		return nil
	}
	return cmd
}

// describe prints one schedule for people.
func (c Command) describe(s *v1alpha1.MotorSchedule) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(c.Out, "%-13s %s\n", name+":", show.Line(value, maxMessage))
		}
	}
	line("Schedule", s.Spec.Schedule+" ("+ptr.Deref(s.Spec.TimeZone, "UTC")+")")
	line("Suspended", strconv.FormatBool(s.Spec.Suspend))
	line("Concurrency", string(s.Spec.ConcurrencyPolicy))
	line("Catch up", string(s.Spec.CatchUp))
	if ref := s.Spec.RunTemplateRef; ref != nil {
		line("Template", ref.Name)
	}
	if who := s.Spec.Requester; who != nil {
		line("Written by", who.Username)
	}
	st := &s.Status
	line("Last start", stamp(st.LastScheduleTime))
	line("Last success", stamp(st.LastSuccessfulTime))
	if skip := st.LastSkipped; skip != nil {
		line("Last skipped", stamp(&skip.Time)+" ("+string(skip.Reason)+")")
	}
	line("Next start", stamp(st.NextScheduleTime))
	names := make([]string, 0, len(st.Active))
	for _, a := range st.Active {
		names = append(names, a.Name)
	}
	line("Active runs", strings.Join(names, ", "))
	if ready := apimeta.FindStatusCondition(st.Conditions, v1alpha1.ScheduleReady); ready != nil {
		line("Ready", string(ready.Status)+" ("+ready.Reason+"): "+ready.Message)
	}
}

func stamp(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
