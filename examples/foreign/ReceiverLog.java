import java.io.FileOutputStream;
import java.io.PrintStream;
import java.util.concurrent.locks.LockSupport;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.ObjectMessage;
import org.jgroups.Receiver;
import org.jgroups.View;

/**
 * A member of a JGroups 5 channel that writes its log for {@code raincheck conform --log-format jgroups}.
 *
 * <pre>
 * javac -cp jgroups.jar ReceiverLog.java
 * java -cp jgroups.jar:. ReceiverLog sequencer.xml NAME MESSAGES MILLISECONDS NAME.log
 * </pre>
 *
 * It joins, sends numbered messages, one each so many milliseconds, and leaves when its input ends.
 * To log a program of your own, print the same lines in its Receiver, with an id that is unique among
 * a sender's messages. Lines are written under one lock, in the order in which JGroups calls.
 */
public class ReceiverLog implements Receiver {
    private final PrintStream log;

    ReceiverLog(String name, String file) throws Exception {
        log = new PrintStream(new FileOutputStream(file), true);
        line("self " + name);
    }

    private synchronized void line(String text) {
        log.println(text);
    }

    @Override
    public void viewAccepted(View view) {
        line("view " + view);
    }

    @Override
    public void receive(Message message) {
        line("deliver " + message.getSrc() + " " + message.getObject());
    }

    public static void main(String[] words) throws Exception {
        int messages = Integer.parseInt(words[2]);
        long gap = Long.parseLong(words[3]) * 1_000_000;
        ReceiverLog member = new ReceiverLog(words[1], words[4]);
        JChannel channel = new JChannel(words[0]).name(words[1]).receiver(member);
        channel.connect("orders");
        Thread sender = new Thread(() -> {
            try {
                for (int id = 1; id <= messages; id++) {
                    member.line("sent " + id);
                    channel.send(new ObjectMessage(null, id));
                    LockSupport.parkNanos(gap);
                }
            } catch (Exception stopped) {
                System.err.println(stopped);
            }
        });
        sender.start();
        while (System.in.read() >= 0) {
            // Until whoever started this closes our input.
        }
        sender.join();
        channel.close();
        member.line("end");
    }
}
