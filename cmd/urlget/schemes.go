package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
)

func schemesCommand(p *program) *cobra.Command {
	return p.define(flags.Schemes, &cobra.Command{
		Use:               "schemes",
		Short:             "List the supported schemes",
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return printSchemes(p.net) },
	})
}

type schemeRecord struct {
	Name       string   `json:"name"`
	Port       uint16   `json:"port,omitempty"`
	Operations []string `json:"operations"`
	State      string   `json:"state"`
	Summary    string   `json:"summary,omitempty"`
}

func printSchemes(n *network) error {
	client, err := n.newClient()
	if err != nil {
		return err
	}
	defer client.Close()
	if n.opts.Report.JSON {
		enc := json.NewEncoder(n.rep.std.out)
		for _, s := range client.Schemes() {
			if err := enc.Encode(schemeRecord{s.Name, s.Port, operations(s), s.State(),
				s.Summary}); err != nil {
				return failure.File(err)
			}
		}
		return nil
	}
	_, err = io.WriteString(n.rep.std.out, schemeTable(client.Schemes()))
	return failure.File(err)
}

func schemeTable(all []fetch.Scheme) string {
	rows := [][5]string{{"scheme", "port", "operations", "state", "what it is"}}
	for _, s := range all {
		port := "-"
		if s.Port != 0 {
			port = fmt.Sprint(s.Port)
		}
		ops := strings.Join(operations(s), " ")
		if ops == "" {
			ops = "-"
		}
		rows = append(rows, [5]string{s.Name, port, ops, strings.ReplaceAll(s.State(), "_", " "), s.Summary})
	}
	var width [5]int
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		line := fmt.Sprintf("%-*s  %*s  %-*s  %-*s  %s", width[0], r[0], width[1], r[1], width[2], r[2],
			width[3], r[3], r[4])
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func operations(s fetch.Scheme) []string {
	names := make([]string, len(s.Ops))
	for i, op := range s.Ops {
		names[i] = op.String()
	}
	return names
}

func schemeCompletions(all []fetch.Scheme, begun string) []string {
	var out []string
	for _, s := range all {
		start := s.Name + ":"
		if s.Port != 0 {
			start += "//"
		}
		if strings.HasPrefix(start, begun) && s.State() != "names_only" {
			out = append(out, start+"\t"+s.Summary)
		}
	}
	return out
}

func schemeNames(n *network) []string {
	client, err := n.newClient()
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range client.Schemes() {
		if s.Can(fetch.OpGet) {
			names = append(names, s.Name)
		}
	}
	return names
}
