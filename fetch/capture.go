package fetch

import (
	"fmt"
	"math"
	"time"
)

// A Capture says from which capture of an archive content comes.
type Capture struct {
	Time   time.Time `json:"time"`   // when it was captured
	Source string    `json:"source"` // the file of the archive, or the URL of the capture
	// Seconds is the time from the date that was asked for to Time; it is negative if Time is earlier,
	// and 0 if no date was asked for.
	Seconds int64 `json:"distance,omitempty"`
}

// NewCapture returns the capture of a time in a source. At is the date that was asked for, or zero.
func NewCapture(when time.Time, source string, at time.Time) *Capture {
	c := &Capture{Time: when.UTC(), Source: source}
	if !at.IsZero() {
		c.Seconds = int64(when.Sub(at) / time.Second)
	}
	return c
}

// Distance returns the time from the date that was asked for to that of the capture.
func (c *Capture) Distance() time.Duration { return time.Duration(c.Seconds) * time.Second }

// String describes the capture, such as "1997-05-03 10:20:11 UTC, 2 days later, in a.warc.gz".
func (c *Capture) String() string {
	text := c.Time.Format("2006-01-02 15:04:05 UTC")
	if c.Seconds != 0 {
		relation := "later"
		if c.Seconds < 0 {
			relation = "earlier"
		}
		text += ", " + roughly(c.Distance().Abs()) + " " + relation
	}
	return text + ", in " + Printable(c.Source)
}

func roughly(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"year", 365 * 24 * time.Hour}, {"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if n := int(math.Round(float64(d) / float64(unit.size))); d >= unit.size && n == 1 {
			return "1 " + unit.name
		} else if d >= unit.size {
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return fmt.Sprintf("%d seconds", int64(d/time.Second))
}
