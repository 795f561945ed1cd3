//go:build integration

package machines

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// A disturbance kills workers and NATS servers, and disconnects servers. It disturbs only one
// server at a time until that has caught up, because a cluster of three tolerates one failure.
type disturbance struct {
	*site
	t     *testing.T
	start time.Time

	workersKilled, serversKilled, leadersKilled, cutOff, leadersCutOff int
}

const (
	killedFor       = 5 * time.Second
	disconnectedFor = 30 * time.Second // in the long test
	cutBriefly      = 10 * time.Second
)

func (d *disturbance) String() string {
	return fmt.Sprintf("killed %d workers and %d NATS servers (%d as leaders), cut off %d (%d as leaders)",
		d.workersKilled, d.serversKilled, d.leadersKilled, d.cutOff, d.leadersCutOff)
}

// complete reports whether each kind has occurred.
func (d *disturbance) complete() bool {
	return d.workersKilled > 0 && d.leadersKilled > 0 && d.cutOff > 0 && (*kill == 0 || d.leadersCutOff > 0 && d.serversKilled > d.leadersKilled)
}

// run disturbs until ctx ends, and then undoes the last disturbance.
func (d *disturbance) run(ctx context.Context) {
	if *kill == 0 {
		d.once(ctx)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; pause(ctx, *kill) == nil; i++ {
			d.killWorker(workers[i%len(workers)])
		}
	}()
	for i := 0; pause(ctx, *kill) == nil; i++ {
		switch i % 4 {
		case 0:
			d.killServer(ctx, true)
		case 1:
			d.cutServer(ctx, false, disconnectedFor)
		case 2:
			d.killServer(ctx, false)
		case 3:
			d.cutServer(ctx, true, disconnectedFor)
		}
	}
	<-done
}

// once kills a worker, kills a NATS server that leads, and disconnects another one.
func (d *disturbance) once(ctx context.Context) {
	if pause(ctx, 2*time.Second) != nil {
		return
	}
	d.killWorker(workers[0])
	d.killServer(ctx, true)
	if ctx.Err() == nil {
		d.cutServer(ctx, false, cutBriefly)
	}
}

func (d *disturbance) log(format string, args ...any) {
	d.t.Logf("%4.0f s: %s", time.Since(d.start).Seconds(), fmt.Sprintf(format, args...))
}

// do runs a docker command that must succeed.
func (d *disturbance) do(args ...string) {
	if _, err := docker(context.Background(), nil, args...); err != nil {
		d.t.Error(err)
	}
}

func (d *disturbance) killWorker(name string) {
	d.log("%s is killed", name)
	d.do("kill", "-s", "KILL", d.containers[name])
	d.workersKilled++
	pause(context.Background(), killedFor)
	d.do("start", d.containers[name])
}

// choose returns the server that leads the stream of jobs, or one that does not.
func (d *disturbance) choose(leads bool) string {
	for start := time.Now(); time.Since(start) < patience; {
		leader, err := d.leader()
		if err != nil {
			pause(context.Background(), time.Second)
			continue
		}
		for _, name := range nats {
			if (name == leader) == leads {
				return name
			}
		}
	}
	d.t.Error("no leader")
	return nats[0]
}

func (d *disturbance) killServer(ctx context.Context, leads bool) {
	name := d.choose(leads)
	d.log("killing %s, leader: %v", name, leads)
	d.do("kill", "-s", "KILL", d.containers[name])
	d.serversKilled++
	if leads {
		d.leadersKilled++
	}
	pause(context.Background(), killedFor)
	d.do("start", d.containers[name])
	d.recover(ctx, name)
}

func (d *disturbance) cutServer(ctx context.Context, leads bool, long time.Duration) {
	name := d.choose(leads)
	d.log("disconnecting %s, leader: %v", name, leads)
	d.do("network", "disconnect", d.network, d.containers[name])
	d.cutOff++
	if leads {
		d.leadersCutOff++
	}
	pause(context.Background(), long)
	d.do("network", "connect", "--alias", name, d.network, d.containers[name])
	d.recover(ctx, name)
}

// recover waits until all servers have caught up.
func (d *disturbance) recover(ctx context.Context, name string) {
	back := time.Now()
	for {
		st, err := d.status(context.Background())
		if err == nil && st.Missing == 0 {
			d.log("%s has caught up, after %.0f s", name, time.Since(back).Seconds())
			return
		}
		if time.Since(back) > patience {
			d.t.Errorf("%s does not catch up: %+v, %v", name, st, err)
			return
		}
		if pause(ctx, time.Second) != nil {
			return
		}
	}
}
