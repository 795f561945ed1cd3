package queue

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The alert rules and the dashboard use only metrics that a worker has.
func TestMonitoringUsesMetrics(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	m := &Metrics{}
	m.countUnfollowed("depth")
	if err := m.WriteText(&text, &Status{}); err != nil {
		t.Fatal(err)
	}
	known := regexp.MustCompile(`(?m)^# TYPE (\w+)`).FindAllStringSubmatch(text.String(), -1)
	for _, file := range []string{"alerts.yml", "dashboard.json"} {
		content, err := os.ReadFile(filepath.Join("..", "packaging", "monitoring", file))
		if err != nil {
			t.Fatal(err)
		}
		used := regexp.MustCompile(`urlget_\w+`).FindAllString(string(content), -1)
		if len(used) < 5 {
			t.Errorf("%s uses %d metrics", file, len(used))
		}
		for _, name := range used {
			found := false
			for _, k := range known {
				found = found || k[1] == name
			}
			if !found {
				t.Errorf("%s uses %s, which no worker has", file, name)
			}
		}
		if d := json.NewDecoder(strings.NewReader(string(content))); file == "dashboard.json" {
			var dashboard struct {
				Panels []struct{ Title string }
			}
			if err := d.Decode(&dashboard); err != nil || len(dashboard.Panels) == 0 {
				t.Errorf("%s: %d panels, %v", file, len(dashboard.Panels), err)
			}
			if _, err := d.Token(); err != io.EOF {
				t.Errorf("%s continues: %v", file, err)
			}
		}
	}
}
