package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
)

// fillIn prompts the user to fill in a form, if err has one and there is a terminal. It reports
// whether j should be retried.
func (a *app) fillIn(ctx context.Context, j *job.Job, err error) bool {
	var formErr *fetch.FormError
	if !errors.As(err, &formErr) || !a.prompt.Possible() {
		return false
	}
	a.terminal.Lock()
	defer a.terminal.Unlock()
	form := make(map[string][]string)
	filled := false
	a.con.Write([]byte(fetch.Printable(formErr.Form.Title) + "\n"))
	for _, field := range formErr.Form.Fields {
		if field.Kind == fetch.FieldNote {
			a.con.Write([]byte(fetch.Printable(field.Name) + "\n"))
			continue
		}
		if preset, ok := j.Form[field.Name]; ok {
			form[field.Name] = preset
			continue
		}
		answer, err := a.askField(ctx, field)
		if err != nil {
			return false
		}
		form[field.Name], filled = answer, true
	}
	j.Form = form
	return filled
}

// askField prompts for a field until the input is valid.
func (a *app) askField(ctx context.Context, f fetch.Field) ([]string, error) {
	question := fetch.Printable(f.Name)
	switch f.Kind {
	case fetch.FieldYesNo:
		question += " (yes or no)"
	case fetch.FieldChoice:
		question += " (" + fetch.Printable(strings.Join(f.Choices, ", ")) + ")"
	case fetch.FieldLines:
		question += " (several lines, ended by a single dot)"
	case fetch.FieldFile:
		question += " (name of a file to send)"
	case fetch.FieldSaveAs:
		question += " (name of a file to save to)"
	}
	if len(f.Default) > 0 && f.Kind != fetch.FieldSecret {
		question += " [" + fetch.Printable(strings.Join(f.Default, ", ")) + "]"
	}
	for {
		text, err := a.prompt.Ask(ctx, question+": ", f.Kind == fetch.FieldSecret)
		if err != nil {
			return nil, err
		}
		if text == "" && f.Default != nil {
			return f.Default, nil
		}
		switch f.Kind {
		case fetch.FieldLines:
			return a.askLines(ctx, text)
		case fetch.FieldFile:
			content, err := os.ReadFile(text)
			if err == nil {
				return []string{string(content)}, nil
			}
			printError(a.con, a.con.Paint, "", "", failure.File(err))
		case fetch.FieldYesNo:
			if text = yesNo(text); text != "" {
				return []string{text}, nil
			}
		case fetch.FieldChoice:
			if choice := chosen(f.Choices, text); choice != "" {
				return []string{choice}, nil
			}
		default:
			return []string{text}, nil
		}
	}
}

// askLines prompts for the lines after the first one.
func (a *app) askLines(ctx context.Context, text string) ([]string, error) {
	var lines []string
	for text != "." {
		lines = append(lines, text)
		var err error
		if text, err = a.prompt.Ask(ctx, "", false); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

func yesNo(text string) string {
	for _, word := range []string{"yes", "no"} {
		if text != "" && strings.HasPrefix(word, strings.ToLower(text)) {
			return word
		}
	}
	return ""
}

// chosen returns the choice selected by text, which is the choice or its number, or "".
func chosen(choices []string, text string) string {
	for i, c := range choices {
		if strings.EqualFold(c, text) || text == strconv.Itoa(i+1) {
			return c
		}
	}
	return ""
}
